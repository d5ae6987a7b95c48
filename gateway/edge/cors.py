"""Which web pages may call the API from a browser. In front of everything, where it is wanted;
refusals made before any application runs say it, too (gateway.edge.protocol).

Only the API answers: pages have cookies, and no other site has any business with them. Callers
show their key in a header, so no answer ever allows credentials.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gateway.core.asgi import Application, Message, Receive, Scope, Send
from gateway.core.mounts import NAMED_MOUNT

Headers = list[tuple[bytes, bytes]]

MOUNTS = re.compile(f"/+{NAMED_MOUNT}(?:/|$)")
NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, \t-]{1,4096}")
ANY = "*"
ALLOW_ORIGIN = b"access-control-allow-origin"
PREFLIGHT_S = 7200  # the longest that browsers remember
# Section 7.6 of the gateway contract: what programs read from an answer's head.
EXPOSED = (
    b"x-request-id, request-id, x-client-request-id, x-generation-id, x-model-used, "
    b"x-fallback-from, x-fallback-depth, x-credits-used, x-dropped-params, x-compat-profile, "
    b"x-should-retry, idempotent-replayed, retry-after, server-timing, x-inferada-queued-ms, "
    b"x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-ratelimit-limit-requests, "
    b"x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, "
    b"x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, x-limit-level, x-limit-metric, "
    b"x-limit-period, x-limit-resets-at, x-storage-used-bytes, x-storage-limit-bytes, "
    b"x-files-used, x-files-limit"
)


class Origins:
    """Whose pages may read the answers. origins: as browsers write them, or "*" for any."""

    def __init__(self, origins: Collection[str]) -> None:
        self._takes_any = ANY in origins
        self._origins = frozenset(origin.encode() for origin in origins)

    def headers(self, path: str, fields: Mapping[bytes, bytes]) -> Headers:
        """Return what an answer at this path says of the origin in the request's headers."""
        if not MOUNTS.match(path):
            return []
        headers: Headers = [] if self._takes_any else [(b"vary", b"Origin")]
        if allowed := self._allow(fields.get(b"origin")):
            headers += [
                (ALLOW_ORIGIN, allowed),
                (b"access-control-expose-headers", EXPOSED),
            ]
        return headers

    def _allow(self, origin: bytes | None) -> bytes:
        """Return the origin that the answer names, empty when there is none to allow."""
        if origin and self._takes_any:
            return b"*"
        return origin if origin and origin in self._origins else b""


class Cors:
    """ASGI middleware.

    A page of another origin gets the answer as if this were not here: its browser keeps it away.
    """

    def __init__(self, application: Application, origins: Origins) -> None:
        self._application = application
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        fields = dict(scope["headers"])
        headers = self._origins.headers(scope["path"], fields)
        if not headers:
            await self._application(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and is_allowed_preflight(fields, headers):
            headers += preflight(fields.get(b"access-control-request-headers", b""))
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._application(scope, receive, Labelled(send, headers).send)


def is_allowed_preflight(fields: Mapping[bytes, bytes], headers: Headers) -> bool:
    asks = b"access-control-request-method" in fields
    return asks and any(name == ALLOW_ORIGIN for name, _ in headers)


def preflight(names: bytes) -> Headers:
    """Return what the answer to a preflight adds. names: the headers that the page will send."""
    headers: Headers = [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-max-age", b"%d" % PREFLIGHT_S),
    ]
    if NAMES.fullmatch(names):
        headers.append((b"access-control-allow-headers", names))
    return headers


class Labelled:
    """Sends an answer with more headers. A method of an object, as the server's own `send` is:
    who has to break a connection asks it for the transport (gateway.caller.connection)."""

    def __init__(self, send: Send, headers: Headers) -> None:
        self._send = send
        self._headers = headers

    @property
    def transport(self) -> object:
        return getattr(getattr(self._send, "__self__", None), "transport", None)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)
