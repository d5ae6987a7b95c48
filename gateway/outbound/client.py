"""The guarded client: HTTP to addresses that somebody else chose (docs/adr/0033).

Every hop is checked from scratch: the text of the address (gateway.outbound.locator), then every
address that its name has, once; the connection goes to one of those and nowhere else. No proxy of
the environment, no cookie, no kept connection; nothing is unpacked.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import httpcore
import httpx
from yarl import URL

from gateway.outbound.guarded_sockets import (
    Forbidden,
    GuardedBackend,
    LookUp,
    Permits,
    TooLarge,
    look_up,
)
from gateway.outbound.locator import BadAddress, next_locator
from gateway.outbound.permitted_addresses import Network, may_connect

MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS = {
    "accept": "*/*",
    "accept-encoding": "identity",
    "user-agent": "tollhouse",
    "connection": "close",
}
# Each piece costs the same, however small: a body in smaller ones is not sent in earnest.
FREE_PIECES = 1_000
BYTES_PER_PIECE = 64
PIECES_PER_PAUSE = 64
# Beside the body: heads, chunk sizes, redirects' bodies.
SPARE_BYTES = 1024 * 1024
# Whatever an exchange may fail with, but for TooLarge.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError)
# Those of them where no connection came about.
UNCONNECTED = (httpx.ConnectError, httpx.ConnectTimeout)


class Answer(NamedTuple):
    """A complete answer with status 200. url: where the last redirect led."""

    url: URL
    headers: Mapping[str, str]
    content: bytes


class Reply(NamedTuple):
    """A complete answer with any status."""

    status: int
    content: bytes
    headers: Mapping[str, str] = MappingProxyType({})


class GuardedClient:
    """Connects to public addresses only, and to those in the allowed networks.

    max_bytes: of an answer's body. permits: instead of that, which addresses may be connected to.
    For one event loop; time is the caller's to bound.
    """

    def __init__(
        self,
        allowed: Sequence[Network] = (),
        *,
        max_bytes: int,
        look_up: LookUp = look_up,
        permits: Permits | None = None,
    ) -> None:
        self._allowed = allowed
        self._max_bytes = max_bytes
        permits = permits or partial(may_connect, allowed=allowed)
        self._backend = GuardedBackend(permits, look_up, 2 * max_bytes + SPARE_BYTES)
        # The transport alone: a client would read cookies and the environment.
        self._transport = GuardedTransport(self._backend)

    async def get(
        self,
        url: URL,
        *,
        permits_host: Callable[[str], bool] = lambda host: True,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Return what is there, redirects followed. permits_host: asked about the host of each.
        headers: sent to the first alone. Raises TooLarge, or one of FAILURES."""
        for _ in range(MAX_REDIRECTS + 1):
            if not permits_host(url.raw_host or ""):
                raise Forbidden("the host is not allowed")
            request = self._write(url, headers=headers)
            response = await self._transport.handle_async_request(request)
            try:
                location = response.headers.get("location", "")
                if response.status_code not in REDIRECTS or not location:
                    if response.status_code != 200:
                        raise Forbidden(f"answered {response.status_code}")
                    return Answer(url, response.headers, await self._read(response))
            finally:
                await response.aclose()
            headers = MappingProxyType({})
            try:
                url = next_locator(url, location, self._allowed)
            except BadAddress as error:
                raise Forbidden(str(error)) from None
        raise Forbidden("too many redirects")

    async def send(
        self, url: URL, *, method: str, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply:
        """Return what answers this one request; redirects are not followed. Raises TooLarge, or
        one of FAILURES."""
        request = self._write(url, method=method, headers=headers, content=content)
        response = await self._transport.handle_async_request(request)
        try:
            return Reply(response.status_code, await self._read(response), response.headers)
        finally:
            await response.aclose()

    async def open(
        self, url: URL, *, method: str, headers: Mapping[str, str], content: bytes = b""
    ) -> httpx.Response:
        """Return the answer to one request before its body is read, which is the caller's to count
        and to close. Raises one of FAILURES."""
        request = self._write(url, method=method, headers=headers, content=content)
        response = await self._transport.handle_async_request(request)
        try:
            check_encoding(response)
        except Forbidden:
            await response.aclose()
            raise
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()
        self._backend.close()

    def _write(
        self,
        url: URL,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = MappingProxyType({}),
        content: bytes = b"",
    ) -> httpx.Request:
        """Return the request. The client reads no part of the address again: it is told each."""
        host = url.raw_host or ""
        address = httpx.URL(scheme=url.scheme, host=host, port=url.port, path="/")
        if address.raw_host.decode() != host:
            raise Forbidden("the host is read in two ways")
        extensions = {"target": url.raw_path_qs.encode(), "sni_hostname": host.rstrip(".")}
        return httpx.Request(
            method,
            address,
            headers=HEADERS | dict(headers),
            content=content or None,
            extensions=extensions,
        )

    async def _read(self, response: httpx.Response) -> bytes:
        """Return the body, counted as it comes. Raises TooLarge, Forbidden for what is no file."""
        check_encoding(response)
        declared = response.headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > self._max_bytes:
            raise TooLarge
        content, pieces = bytearray(), 0
        async for piece in response.aiter_raw():
            content += piece
            pieces += 1
            if len(content) > self._max_bytes:
                raise TooLarge
            if pieces > FREE_PIECES + len(content) // BYTES_PER_PIECE:
                raise Forbidden("the body comes in too many pieces")
            if pieces % PIECES_PER_PAUSE == 0:
                await asyncio.sleep(0)
        return bytes(content)


def check_encoding(response: httpx.Response) -> None:
    """Raise Forbidden for a body that would have to be unpacked."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise Forbidden(f"answered encoded {encoding[:40]!r}")


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx over sockets of ours: it takes no backend itself."""

    def __init__(self, backend: GuardedBackend) -> None:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=0,
            http2=False,
            network_backend=backend,
        )
