"""The seam between us and providers: the only module that opens connections to them.

What matters for money is kept apart: a request that never left may be tried again blindly
(ProviderUnreachable), one that was sent and then dropped may have run (ProviderUnavailable).

Waiting for a first byte, for the next piece and for the whole is bounded by
gateway.streaming.watch, which sees every live call; only connecting has its own clock here.
Redirects are never followed, proxy variables of the environment are not read, answers come
uncompressed (docs/adr/0027).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from ipaddress import ip_address
from typing import Any, Protocol

import aiohappyeyeballs
from yarl import URL

from gateway.core.errors import ProviderUnavailable, ProviderUnreachable
from gateway.outbound.networks import is_metadata
from gateway.providers.base import UpstreamRequest
from gateway.providers.connection import Connection, LoopQuotas
from gateway.providers.response import BrokenOff, NetworkResponse

MAX_ERROR_BYTES = 64 * 1024
KEEPALIVE_S = 30.0
# Connections that have waited for less are used again without asking the system about them.
FRESH_S = 1.0
HAPPY_EYEBALLS_S = 0.25
SWEEP_S = 10.0
NAMES_S = 10.0
MAX_PLACES = 10_000


class UpstreamResponse(Protocol):
    """A provider's answer, its head read, its body not yet. Release it in every case.

    is_encoded: the body is compressed or otherwise not as it is.
    """

    status: int
    is_encoded: bool

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, names in lower case."""

    @property
    def broken_by(self) -> tuple[type[Exception], ...]:
        """What read raises when the answer breaks off."""

    async def read(self) -> bytes:
        """Return what has arrived of the body, waiting for some; empty at its end."""

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        """Hand over each piece of the body as it arrives, until `take` says False; return whether
        it did: else this is the end."""

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


class Place:
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
            raise ValueError("This address cannot be written into a request.")
        self.begin = f"POST {target} HTTP/1.1\r\nhost: {name}\r\n"
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


class NetworkTransport:
    """Connections to every provider, kept alive and shared by all calls of a process.

    takes_link_local: connects to link-local addresses and those of metadata services, too.
    """

    def __init__(self, *, connect_s: float, takes_link_local: bool = False) -> None:
        self._connect_s = connect_s
        self._takes_link_local = takes_link_local
        self._places: dict[str, Place] = {}
        self._idle: dict[URL, list[Connection]] = {}
        self._alive: set[Connection] = set()
        self._is_closed = False
        self._names = Names()
        self._quotas: LoopQuotas | None = None  # made when the loop runs
        self._sweep: asyncio.TimerHandle | None = None

    async def open(self, request: UpstreamRequest) -> NetworkResponse:
        place = self._places.get(request.url) or self._find(request.url)
        head = write_head(place.begin, request.headers, len(request.body))
        connection = place.take_idle() or await self._connect(place)
        response = connection.ask(head, request.body)
        request.was_sent = True
        try:
            await response.head()
        except BrokenOff as error:
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

    def _find(self, url: str) -> Place:
        """Return where a URL leads; it is the same for all calls to a target.

        Raises ProviderUnreachable.
        """
        if len(self._places) > MAX_PLACES:
            self._places.clear()
        try:
            parsed = URL(url, encoded=True)
            place = Place(parsed, self._idle.setdefault(parsed.origin(), []))
        except ValueError as error:
            raise ProviderUnreachable(
                "The provider's address cannot be used.", detail=repr(error)
            ) from error
        self._places[url] = place
        return place

    async def _connect(self, place: Place) -> Connection:
        """Return a new connection. Raises ProviderUnreachable: nothing has been sent."""
        try:
            async with asyncio.timeout(self._connect_s):
                connection = await self._reach(place)
            if self._is_closed or not connection.is_open:
                connection.cut()
                raise ConnectionAbortedError("The connection ended before it was used.")
        # Names, refusals, certificates, time; uvloop says some of it as RuntimeError.
        except (OSError, ValueError, RuntimeError) as error:
            raise ProviderUnreachable(
                "The provider could not be reached.", detail=repr(error)
            ) from error
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_S, self._close_idle)
        return connection

    async def _reach(self, place: Place) -> Connection:
        loop = asyncio.get_running_loop()
        found = await self._names.look_up(place.host, place.port)
        if not self._takes_link_local:
            check_addresses(found)
        if self._quotas is None:
            self._quotas = LoopQuotas(loop)
        quotas = self._quotas
        await quotas.connects.turn()
        sock = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1, loop=loop
        )
        options: dict[str, Any] = {"sock": sock}
        if place.uses_tls:
            options |= {"ssl": self._tls, "server_hostname": place.host.rstrip(".")}
        connection = Connection(loop, place.idle, self._alive, quotas)
        try:
            await loop.create_connection(lambda: connection, **options)
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


class Names:
    """Addresses of hosts, asked for once by all who want them at the same time."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], tuple[float, asyncio.Future[Any]]] = {}

    async def look_up(self, host: str, port: int) -> list[Any]:
        """Return what getaddrinfo says, at most NAMES_S old. Raises OSError."""
        now = time.monotonic()
        asked_at, answer = self._asked.get((host, port), (0.0, None))
        if answer is None or is_failure(answer) or (answer.done() and now - asked_at > NAMES_S):
            loop = asyncio.get_running_loop()
            answer = asyncio.ensure_future(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            answer.add_done_callback(is_failure)  # when all who asked have left, it is no news
            if len(self._asked) > MAX_PLACES:
                self._asked.clear()
            self._asked[host, port] = (now, answer)
        found: list[Any] = await asyncio.shield(answer)
        return found


def check_addresses(found: list[Any]) -> None:
    """Raise PermissionError when one of the addresses is link-local or a cloud's metadata
    service: whoever can have a name point there must not get what is told there."""
    for *_, address in found:
        if is_metadata(ip_address(address[0])):
            raise PermissionError(f"{address[0]} is a link-local or metadata address")


def is_failure(answer: asyncio.Future[Any]) -> bool:
    return answer.done() and (answer.cancelled() or answer.exception() is not None)


def write_head(begin: str, headers: Mapping[str, str], body_bytes: int) -> bytes:
    """Return the head of a request. Raises ProviderUnreachable for what would be another head,
    such as a credential with a line end in it, or none at all."""
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if fields.count("\n") != len(headers) or fields.count("\r") != len(headers) or "\0" in fields:
        raise ProviderUnreachable("The provider's credential cannot be sent.")
    try:
        return f"{begin}{fields}content-length: {body_bytes}\r\n\r\n".encode()
    except UnicodeEncodeError:
        raise ProviderUnreachable("The provider's credential cannot be sent.") from None


async def read_error_body(response: UpstreamResponse) -> bytes:
    """Return the start of an error's body; one that breaks off is as good as it is."""
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES and (chunk := await response.read()):
            body += chunk
    except response.broken_by:
        pass
    return body[:MAX_ERROR_BYTES]
