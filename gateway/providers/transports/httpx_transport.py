"""Requests by httpx: for providers with a proxy, HTTP/2, a client certificate or a CA of their own.

It keeps the contract of our own connections (docs/adr/0040): pieces are handed on as they arrive,
a call that is given up ends at the provider, and what cannot have been sent is told apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import cast

import h2.exceptions
import httpcore
import httpx
from yarl import URL

from gateway.core.errors import ProviderUnavailable, ProviderUnreachable
from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.guarded_sockets import NotPermitted
from gateway.outbound.permitted_addresses import is_metadata
from gateway.outbound.proxies import ProxyRefused
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import IncompleteResponse
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.direct import write_head
from gateway.providers.transports.direct_response import (
    LARGE_PIECE_BYTES,
    PIECE_BYTES,
    READ_REST_S,
)
from gateway.providers.transports.httpx_connection import ProviderPool
from gateway.providers.transports.httpx_stream import SocketStream
from gateway.providers.transports.loop_quotas import LoopQuotas

PART_BYTES = 64 * 1024
SWEEP_S = 10.0
PROXY_ASKS_FOR_CREDENTIAL = 407
# Whatever an exchange may fail with on the way.
FAILURES = (httpx.HTTPError, httpcore.ConnectionNotAvailable, h2.exceptions.ProtocolError)
FAILURES_BEFORE = (*FAILURES, OSError, ValueError, RuntimeError)
Take = Callable[[bytes], bool]


class RequestBody(httpx.AsyncByteStream):
    """A body in parts: httpcore copies what is left of a part for each frame."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), PART_BYTES):
            yield self._body[start : start + PART_BYTES]


class PoolTransport(httpx.AsyncHTTPTransport):
    """httpx over connections of ours: it takes no pool itself."""

    def __init__(self, pool: ProviderPool) -> None:
        self._pool = pool


class HttpxResponse:
    """An answer, its head read. See UpstreamResponse."""

    broken_by: tuple[type[Exception], ...] = (IncompleteResponse,)

    def __init__(self, response: httpx.Response, transport: HttpxTransport) -> None:
        self.status = response.status_code
        coding = response.headers.get("content-encoding", "").strip().lower()
        self.is_encoded = coding not in ("", "identity")
        self._response = response
        self._transport = transport
        self._parts = aiter(cast(httpx.AsyncByteStream, response.stream))
        self._left = b""
        self._is_complete = False

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, names in lower case; of a name that comes twice the last."""
        raw = self._response.headers.raw
        return {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in raw}

    async def read(self) -> bytes:
        """Return at most PIECE_BYTES of what has arrived of the body, waiting for some; empty at
        its end. Raises IncompleteResponse behind the last byte of an incomplete answer."""
        while not self._left and not self._is_complete:
            self._left = await self._next_part()
        piece, self._left = self._left[:PIECE_BYTES], self._left[PIECE_BYTES:]
        return piece

    def take_whole(self) -> bytes | None:
        """See UpstreamResponse."""
        return None

    async def forward(self, take: Take) -> bool:
        """See UpstreamResponse."""
        while piece := await self.read():
            if len(piece) < LARGE_PIECE_BYTES:
                goes_on = take(piece)
            else:
                goes_on = await self._transport.quotas.pieces.run(partial(take, piece))
            if not goes_on:
                return True
        return False

    async def read_rest(self) -> None:
        """Read on to the end if that is near, so that the connection can be used again."""
        try:
            async with asyncio.timeout(READ_REST_S):
                while await self.read():
                    pass
        except (TimeoutError, IncompleteResponse):
            pass

    def release(self) -> None:
        """Give the connection back when the whole answer has arrived, else cut it; of a shared one
        the call alone is ended."""
        if not self._is_complete:
            self._is_complete = True
            self._transport.give_up(self._response)

    async def _next_part(self) -> bytes:
        """Return some of the body, empty behind its end."""
        try:
            return await anext(self._parts)
        except StopAsyncIteration:
            self._is_complete = True
            await self._response.aclose()
            return b""
        except (*FAILURES, OSError) as error:
            raise IncompleteResponse(repr(error)) from error


class HttpxTransport:
    """Connections with the same settings, kept alive and shared by all calls of a process.

    quotas: of the loop. Raises ValueError for certificates that cannot be used.
    """

    def __init__(
        self, settings: ConnectionSettings, *, connect_s: float, dialer: Dialer, quotas: LoopQuotas
    ) -> None:
        self.quotas = quotas
        self._takes_link_local = dialer.takes_link_local
        self._pool = ProviderPool(settings, connect_s=connect_s, dialer=dialer, quotas=quotas)
        self._httpx = PoolTransport(self._pool)
        self._proxy_secrets = secrets_of_proxy(settings, self._pool.credential)
        self._closing: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._is_retired = self._is_closed = False

    async def open(self, request: UpstreamRequest, *, method: str = "POST") -> HttpxResponse:
        if self._is_closed:
            raise ProviderUnreachable("The provider could not be reached.", detail="closed")
        request.hidden = self._proxy_secrets
        outgoing = self._write(request, method)
        try:
            response = await self._httpx.handle_async_request(outgoing)
        except FAILURES_BEFORE as error:
            if request.was_sent:
                raise ProviderUnavailable(
                    "The provider closed the connection.", detail=repr(error)
                ) from error
            raise ProviderUnreachable(
                "The provider could not be reached.", detail=repr(error)
            ) from error
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(SWEEP_S, self._close_idle)
        return self._check(HttpxResponse(response, self), request)

    def _check(self, response: HttpxResponse, request: UpstreamRequest) -> HttpxResponse:
        """Return the answer when it is the provider's, and one."""
        if response.status == PROXY_ASKS_FOR_CREDENTIAL and self._pool.settings.proxy_url:
            response.release()
            request.was_sent = False
            error = ProxyRefused(response.status)
            raise ProviderUnreachable(
                "The provider could not be reached.", detail=repr(error)
            ) from error
        if response.status < 200:
            response.release()
            raise ProviderUnavailable("The provider changed the protocol.")
        return response

    def give_up(self, response: httpx.Response) -> None:
        """End a call whose answer was not read to its end."""
        stream = response.extensions.get("network_stream")
        if isinstance(stream, SocketStream) and "stream_id" not in response.extensions:
            stream.cut()
        task = asyncio.ensure_future(response.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        if self._closing:
            await asyncio.wait(self._closing)
        await self._httpx.aclose()

    @property
    def connection_count(self) -> int:
        """How many connections there are, in use or idle."""
        return self._pool.count_open()

    def retire(self) -> None:
        """Keep no connection any more: those with calls end with them."""
        self._is_retired = True
        self._pool.close_idle(all_of_them=True)

    def _write(self, request: UpstreamRequest, method: str) -> httpx.Request:
        """Return the request. httpx reads no part of the address again: it is told each.

        Raises ProviderUnreachable.
        """
        # For what it refuses; a beginning has one line end.
        write_head("\r\n", request.headers, len(request.body))

        def on_sending(was_sent: bool) -> None:
            request.was_sent = was_sent

        try:
            url = URL(request.url, encoded=True)
            host, target = url.raw_host or "", url.raw_path_qs.encode("ascii")
            address = httpx.URL(scheme=url.scheme, host=host, port=url.port, path="/")
            if not host or address.raw_host.decode() != host.strip("[]"):
                raise ValueError("The host of the URL is ambiguous.")
            if not self._takes_link_local and is_metadata_text(host):
                raise NotPermitted(f"{host} is a link-local or metadata address")
        except (ValueError, OSError, httpx.InvalidURL) as error:
            raise ProviderUnreachable(
                "The provider's URL cannot be used.", detail=repr(error)
            ) from error
        fields = {name.encode(): value.encode() for name, value in request.headers.items()}
        fields[b"host"] = (url.host_port_subcomponent or "").encode()
        fields[b"content-length"] = b"%d" % len(request.body)
        return httpx.Request(
            method,
            address,
            headers=list(fields.items()),
            stream=RequestBody(request.body),
            extensions={"target": target, "on_sending": on_sending},
        )

    def _close_idle(self) -> None:
        """Close what nobody has used for a while."""
        again = self._pool.close_idle(all_of_them=self._is_retired)
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(SWEEP_S, self._close_idle) if again else None


def secrets_of_proxy(settings: ConnectionSettings, header: str) -> tuple[str, ...]:
    """Return what must not be quoted of what the proxy is shown."""
    pair = settings.proxy_credential
    return (header.partition(" ")[2], pair, *pair.split(":", 1)) if pair else ()


def is_metadata_text(host: str) -> bool:
    """True for an IP address of a metadata service: a proxy would ask its own."""
    try:
        return is_metadata(ip_address(host.strip("[]")))
    except ValueError:
        return False
