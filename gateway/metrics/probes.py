"""GET /healthz and /readyz: is the process alive, and may it take calls? For load balancers and
supervisors, without a key.

Answered by the event loop itself, with no thread and no query: an answer means that it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gateway import __version__
from gateway.core.asgi import Receive, Scope, Send
from gateway.edge.connection_limits import ConnectionLimiter
from gateway.metrics.readiness import Problem, find_problems, find_warnings

if TYPE_CHECKING:
    from gateway.wiring import Runtime

encode = msgspec.json.encode


class Reason(msgspec.Struct):
    check: str
    message: str


class Probe(msgspec.Struct, omit_defaults=True):
    status: str
    version: str
    reasons: list[Reason] = []
    warnings: list[Reason] = []


class Healthz:
    """Is the process alive?"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer(scope, send, 200, encode(Probe("ok", __version__)))


class Readyz:
    """May the process take calls? 503 with the reasons if not."""

    def __init__(self, runtime: Runtime, limiter: ConnectionLimiter) -> None:
        self._runtime = runtime
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problems = find_problems(self._runtime, self._limiter)
        if not problems:
            warnings = _reasons(find_warnings(self._runtime))
            await answer(scope, send, 200, encode(Probe("ready", __version__, warnings=warnings)))
            return
        probe = Probe("unavailable", __version__, _reasons(problems))
        await answer(scope, send, 503, encode(probe))


def _reasons(problems: list[Problem]) -> list[Reason]:
    return [Reason(check, message) for check, message in problems]


async def answer(
    scope: Scope,
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes = b"application/json",
    *headers: tuple[bytes, bytes],
) -> None:
    """Send a whole answer to GET or HEAD; 405 to any other method."""
    fields = [*headers, (b"cache-control", b"no-store")]
    if scope["method"] not in ("GET", "HEAD"):
        status, body, content_type = 405, b'{"status":"method not allowed"}', b"application/json"
        fields.append((b"allow", b"GET, HEAD"))
    fields += [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    is_head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if is_head else body})
