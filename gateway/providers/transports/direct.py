"""Our own HTTP/1.1 connections: what serves a provider that asks for nothing else.

Connects, keeps connections and finds them again; what happens on one is direct_connection's.
No proxy, no client certificate, the system's certificate authorities (docs/adr/0027).
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from functools import cached_property

from yarl import URL

from gateway.core.errors import ProviderUnavailable, ProviderUnreachable
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import IncompleteResponse
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.direct_connection import Connection
from gateway.providers.transports.direct_response import DirectResponse
from gateway.providers.transports.loop_quotas import LoopQuotas

KEEPALIVE_S = 30.0
# Connections that have waited for less are used again without asking the system about them.
FRESH_S = 1.0
SWEEP_S = 10.0
MAX_ENDPOINTS = 10_000
# Of the head of a request that are always there: target, host, content-length and the last.
LINES = 4


class EndpointPool:
    """Where the requests to one URL go, what their heads begin with, and the connections that
    wait there for the next one, the last used last. Shared by the URLs of an origin: idle.

    Raises ValueError for a URL that no request can be sent to.
    """

    __slots__ = ("begin", "host", "idle", "port", "uses_tls")

    def __init__(self, url: URL, idle: list[Connection]) -> None:
        self.host = url.raw_host or ""
        self.port = url.port or 0
        self.uses_tls = url.scheme == "https"
        target, name = url.raw_path_qs, url.host_port_subcomponent or ""
        written = target + name
        if not (self.host and written.isascii() and written.isprintable()) or " " in written:
            raise ValueError("The URL cannot be used in a request.")
        self.begin = f"POST {target} HTTP/1.1\r\nhost: {name}"
        self.idle = idle

    def take_idle(self) -> Connection | None:
        """Return a connection that is still good, as far as anybody knows."""
        while self.idle:
            connection = self.idle.pop()
            if not connection.is_open:
                continue
            if time.monotonic() - connection.idle_since < FRESH_S or not connection.is_spent:
                return connection
            connection.cut()
        return None


class DirectTransport:
    """Connections to providers, kept alive and shared by all calls of a process."""

    def __init__(self, *, connect_s: float, dialer: Dialer | None = None) -> None:
        self._connect_s = connect_s
        self._dialer = dialer or Dialer()
        self._endpoints: dict[str, EndpointPool] = {}
        self._idle: dict[URL, list[Connection]] = {}
        self._alive: set[Connection] = set()
        self._is_closed = False
        self._quotas: LoopQuotas | None = None  # made when the loop runs
        self._sweep: asyncio.TimerHandle | None = None

    async def open(self, request: UpstreamRequest) -> DirectResponse:
        pool = self._endpoints.get(request.url) or self._find(request.url)
        head = write_head(pool.begin, request.headers, len(request.body))
        connection = pool.take_idle() or await self._connect(pool)
        response = connection.ask(head, request.body)
        request.was_sent = True
        try:
            await response.head()
        except IncompleteResponse as error:
            response.release()
            raise ProviderUnavailable(
                "The provider closed the connection.", detail=repr(error)
            ) from error
        except BaseException:
            response.release()
            raise
        return response

    async def aclose(self) -> None:
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._alive):
            connection.cut()

    def _find(self, url: str) -> EndpointPool:
        """Return where a URL leads; it is the same for all calls to a target.

        Raises ProviderUnreachable.
        """
        if len(self._endpoints) > MAX_ENDPOINTS:
            self._endpoints.clear()
        try:
            parsed = URL(url, encoded=True)
            pool = EndpointPool(parsed, self._idle.setdefault(parsed.origin(), []))
        except ValueError as error:
            raise ProviderUnreachable(
                "The provider's URL cannot be used.", detail=repr(error)
            ) from error
        self._endpoints[url] = pool
        return pool

    async def _connect(self, pool: EndpointPool) -> Connection:
        """Return a new connection. Raises ProviderUnreachable: nothing has been sent."""
        try:
            async with asyncio.timeout(self._connect_s):
                connection = await self._reach(pool)
            if self._is_closed or not connection.is_open:
                connection.cut()
                raise ConnectionAbortedError("The connection was closed before it was used.")
        # Names, refusals, certificates, time; uvloop says some of it as RuntimeError.
        except (OSError, ValueError, RuntimeError) as error:
            raise ProviderUnreachable(
                "The provider could not be reached.", detail=repr(error)
            ) from error
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_S, self._close_idle)
        return connection

    async def _reach(self, pool: EndpointPool) -> Connection:
        loop = asyncio.get_running_loop()
        if self._quotas is None:
            self._quotas = LoopQuotas(loop)
        quotas = self._quotas
        sock = await self._dialer.dial(pool.host, pool.port, quotas.connects)
        tls = self._tls if pool.uses_tls else None
        name = pool.host.rstrip(".") if pool.uses_tls else None
        connection = Connection(loop, pool.idle, self._alive, quotas)
        try:
            await loop.create_connection(
                lambda: connection, sock=sock, ssl=tls, server_hostname=name
            )
        except BaseException:
            connection.cut()  # the loop would say goodbye first, and wait for an answer
            raise
        return connection

    def _close_idle(self) -> None:
        """Close what nobody has used for a while."""
        before = time.monotonic() - KEEPALIVE_S
        for idle in self._idle.values():
            for connection in [one for one in idle if one.idle_since < before]:
                idle.remove(connection)
                connection.cut()
        again = bool(self._alive)
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(SWEEP_S, self._close_idle) if again else None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


def write_head(begin: str, headers: Mapping[str, str], body_bytes: int) -> bytes:
    """Return the head of a request. Raises ProviderUnreachable for what would be another head,
    such as a credential with a line end in it, or none at all."""
    length = f"content-length: {body_bytes}"
    head = "\r\n".join((begin, *map(": ".join, headers.items()), length, "", ""))
    ends = LINES + len(headers)
    if head.count("\n") != ends or head.count("\r") != ends or "\0" in head:
        raise ProviderUnreachable("The provider's credential cannot be sent.")
    try:
        return head.encode()
    except UnicodeEncodeError:
        raise ProviderUnreachable("The provider's credential cannot be sent.") from None
