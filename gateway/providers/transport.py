"""The seam between us and providers: the only module that opens connections to them.

aiohttp's client, called without httpx's request and response types on top: those cost a tenth
of a whole call, and they name a refused connection and a dropped one alike (docs/adr/0015).
What matters for money is kept apart: a request that never left may be tried again blindly
(ProviderUnreachable), one that was sent and then dropped may have run (ProviderUnavailable).

Waiting for a first byte, for the next piece and for the whole is bounded by
gateway.streaming.watch, which sees every live call; only connecting has its own clock here.
Redirects are never followed, proxy variables of the environment are not read, answers come
uncompressed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol

import aiohttp
from yarl import URL

from gateway.core.errors import (
    GatewayError,
    ProviderUnavailable,
    ProviderUnreachable,
    StreamBroken,
)
from gateway.providers.base import UpstreamRequest

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
KEEPALIVE_S = 30.0
DRAIN_S = 0.25
# Events of one piece are held decoded while a caller does not read: many would be a lot of memory.
PIECE_BYTES = 32 * 1024
MAX_URLS = 10_000
BROKEN_BY = (aiohttp.ClientError, OSError)
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


class UpstreamResponse(Protocol):
    """A provider's answer, its head read, its body not yet. Close it in every case."""

    status: int
    headers: Mapping[str, str]
    read: Callable[[], Awaitable[bytes]]
    """Returns what has arrived of the body, waiting for some; empty at its end.

    Raises one of broken_by when it breaks off.
    """
    broken_by: tuple[type[Exception], ...]

    async def drain(self) -> None:
        """Read on to the end if that is near, so that the connection can be used again."""

    def release(self) -> None:
        """Give the connection back when the body was read to its end, else cut it."""


class Transport(Protocol):
    """Anything that can carry a request to a provider."""

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        """Send the request and return when the head of the answer is there.

        Raises ProviderUnreachable when nothing was sent, ProviderUnavailable when the
        connection broke after that.
        """

    async def aclose(self) -> None:
        """Close every connection."""


class NetworkResponse:
    """An answer that comes over a socket."""

    __slots__ = ("_response", "broken_by", "headers", "read", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        # The library's own coroutine: one of ours around it would be resumed for every piece.
        self.read: Callable[[], Awaitable[bytes]] = partial(response.content.read, PIECE_BYTES)
        self.broken_by: tuple[type[Exception], ...] = BROKEN_BY

    async def drain(self) -> None:
        try:
            async with asyncio.timeout(DRAIN_S):
                while await self.read():
                    pass
        except (TimeoutError, *BROKEN_BY):
            pass

    def release(self) -> None:
        self._response.release()


class NetworkTransport:
    """Connections to every provider, kept alive and shared by all calls of a process."""

    def __init__(self, *, connect_s: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_s)
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[str, URL] = {}

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=self._timeout,
            trust_env=False,
        )
        return self._session

    async def open(self, request: UpstreamRequest) -> NetworkResponse:
        session = self._session or self._open_session()
        try:
            response = await session.request(
                "POST",
                self._parsed(request.url),
                headers=request.headers,
                data=request.body,
                allow_redirects=False,
            )
        except BROKEN_BY as error:
            raise read_failure(error) from error
        return NetworkResponse(response)

    def _parsed(self, url: str) -> URL:
        """Return the parsed address, which is the same for all calls to a target."""
        parsed = self._urls.get(url)
        if parsed is None:
            if len(self._urls) > MAX_URLS:
                self._urls.clear()
            parsed = self._urls[url] = URL(url, encoded=True)
        return parsed

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def read_failure(error: Exception) -> GatewayError:
    """Map a failure to send a request or to get the head of its answer."""
    if isinstance(error, NEVER_SENT):
        return ProviderUnreachable("The provider could not be reached.", detail=repr(error))
    return ProviderUnavailable("The provider closed the connection.", detail=repr(error))


async def read_body(response: UpstreamResponse, limit_bytes: int = MAX_ANSWER_BYTES) -> bytes:
    """Return the whole body. Raises ProviderUnavailable when it is compressed or too large."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ProviderUnavailable("The provider's answer is compressed though we asked not to.")
    parts: list[bytes] = []
    size = 0
    try:
        while chunk := await response.read():
            parts.append(chunk)
            size += len(chunk)
            if size > limit_bytes:
                raise ProviderUnavailable("The provider's answer is too large.")
    except response.broken_by as error:
        raise StreamBroken("The provider's answer broke off.", detail=repr(error)) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_error_body(response: UpstreamResponse) -> bytes:
    """Return the start of an error's body; one that breaks off is as good as it is."""
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES and (chunk := await response.read()):
            body += chunk
    except response.broken_by:
        pass
    return body[:MAX_ERROR_BYTES]
