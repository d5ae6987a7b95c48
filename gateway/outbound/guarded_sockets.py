"""Sockets for the guarded client: where they may go, and how much they may make us read.

A name is resolved once, every address it has is checked, and the connection goes to one of those.
The client's own parser reads interim answers (1xx) without end and a head of any number of fields,
so neither reaches it: an answer is handed over once its final head is complete and small enough.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import httpcore

from gateway.outbound.permitted_addresses import Address

# Names are looked up in threads of their own, which a name server that does not answer may all
# take.
MAX_LOOK_UPS = 32
CONNECT_S = 5.0
# Of an answer, interim answers included.
MAX_HEAD_BYTES = 64 * 1024
MAX_FIELDS = 200
MAX_INTERIM = 4
_HEAD_END = re.compile(rb"\n\r?\n")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1[0-9][0-9](?![0-9])")
LookUp = Callable[[str, int], Sequence[str]]
# Whether the address may be connected to at the port.
Permits = Callable[[Address, int], bool]


class Forbidden(OSError):
    """A connection that nobody may make for a caller, or an answer that nobody sends in earnest."""


class NotPermitted(Forbidden):
    """The address is not one that may be connected to."""


class TooLarge(Exception):
    """There are more bytes than the answer may have."""


def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system knows them. Blocks; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def check(address: str, port: int, permits: Permits) -> None:
    """Raise NotPermitted unless the address may be connected to."""
    if not permits(ip_address(address), port):
        raise NotPermitted(f"{address}, port {port}, is not public")


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to permitted addresses only. max_bytes: what is read from one connection."""

    def __init__(self, permits: Permits, look_up: LookUp, max_bytes: int) -> None:
        self._permits = permits
        self._look_up = look_up
        self._max_bytes = max_bytes
        self._sockets = httpcore.AnyIOBackend()
        self._threads = ThreadPoolExecutor(MAX_LOOK_UPS, "fetch-names")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises Forbidden when any address of the host is: such a name is up to something."""
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, self._look_up, host, port)
        for address in addresses:
            check(address, port, self._permits)
        failure: Exception = Forbidden("the name has no address")
        for address in addresses:
            try:
                check(address, port, self._permits)  # the last moment at which it can be refused
                found = await self._sockets.connect_tcp(address, port, timeout=CONNECT_S)
                return GuardedStream(found, self._max_bytes)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedStream(httpcore.AsyncNetworkStream):
    """A connection for one exchange."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, max_bytes: int) -> None:
        self._stream = stream
        self._left_bytes = max_bytes
        self._has_head = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Raises Forbidden for a head that is too long, TooLarge for too much behind it."""
        if self._has_head:
            return await self._read(max_bytes, timeout)
        head = await self._read_head(max_bytes, timeout)
        self._has_head = True
        return head

    async def _read(self, max_bytes: int, timeout: float | None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise TooLarge
        return data

    async def _read_head(self, max_bytes: int, timeout: float | None) -> bytes:
        """Return what has come once the final head is complete, interim answers left out; or as
        far as it came, when the connection ends before that."""
        received, seen_bytes, interim, dropped_bytes = b"", 0, 0, 0
        while True:
            while found := _HEAD_END.search(received, max(seen_bytes - 2, 0)):
                if not _INTERIM.match(received):
                    if received.count(b"\n", 0, found.end()) > MAX_FIELDS:
                        raise Forbidden("the response has too many headers")
                    return received
                interim, seen_bytes = interim + 1, 0
                dropped_bytes += found.end()
                received = received[found.end() :]
                if interim > MAX_INTERIM:
                    raise Forbidden("there are too many interim responses")
            seen_bytes = len(received)
            if dropped_bytes + seen_bytes > MAX_HEAD_BYTES:
                raise Forbidden("the response headers are too long")
            data = await self._read(max_bytes, timeout)
            if not data:
                return received
            received += data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return GuardedStream(secured, self._left_bytes)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
