"""A socket of the event loop's, as httpcore wants it.

Writing hands everything to the loop at once: a call that is given up takes no part of what other
calls on the connection have to say with it. Reading stops at the socket when nobody reads here.
What comes beside bodies is counted, as on our own connections (direct_connection).
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import ssl
from typing import cast

import httpcore

from gateway.outbound.proxies import ProxyRefused
from gateway.providers.transports.direct_connection import (
    FEED_BYTES,
    MAX_FRAMING_BYTES,
    MAX_INTERIM_ANSWERS,
    MAX_SILENT_BYTES,
    MAX_SMALL_PIECES,
)
from gateway.providers.transports.direct_response import HIGH_WATER_BYTES
from gateway.providers.transports.loop_quotas import LoopQuotas

MAX_CONNECT_HEAD_BYTES = 16 * 1024
_CONNECT_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?![0-9])")


class SocketStream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection, to a provider or to a proxy. For one reader at a time."""

    def __init__(self, quotas: LoopQuotas) -> None:
        self.quotas = quotas
        # No more will come, and nothing can be sent.
        self.is_over = False
        # No exchange is on it, and its server has nothing to say between two.
        self.is_silent = False
        self._unwanted_bytes = 0
        self._loop = quotas.reads.loop
        self._received = bytearray()
        self._is_paused = False
        self._failure: Exception | None = None
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.begin_exchange()

    # What the loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if (sock := transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        if self.is_silent:
            self.cut()  # nobody asked: it would be taken for the answer to the next request
            return
        self._received += data
        if len(self._received) > HIGH_WATER_BYTES and not self._is_paused:
            self._is_paused = True
            if self._transport is not None:
                self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.is_over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_over:  # nobody said that this is the end, so it may be none
            self._failure = exc or ConnectionResetError("The connection was closed.")
        self.is_over = True
        self._wake()

    # What httpcore asks for

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has arrived, waiting for some; empty at the end. Raises ReadError."""
        self._account()
        while not self._received:
            if self.is_over:
                if self._failure is not None:
                    raise httpcore.ReadError(repr(self._failure)) from self._failure
                return b""
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._received[: min(max_bytes, FEED_BYTES)])
        del self._received[: len(data)]
        if self._is_paused and len(self._received) <= HIGH_WATER_BYTES:
            self._is_paused = False
            self.quotas.reads.call(self._read_on)
        self._read_bytes = len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.send(buffer)

    async def aclose(self) -> None:
        self.cut()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Go on in TLS; inside of TLS where there is some already."""
        if self._received or self._transport is None:
            raise httpcore.ConnectError("Data was received before the TLS handshake.")
        transport = await self._loop.start_tls(
            self._transport, self, ssl_context, server_hostname=server_hostname
        )
        if transport is None:
            raise httpcore.ConnectError("The connection was closed during the TLS handshake.")
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":
            return self.is_spent()
        return self._transport.get_extra_info(info) if self._transport is not None else None

    # Ours

    def send(self, data: bytes) -> None:
        """Raises WriteError when the connection is over."""
        if self._transport is None or self._transport.is_closing():
            raise httpcore.WriteError("The connection is closed.")
        self._transport.write(data)

    def cut(self) -> None:
        """Close at once, whatever is still to be read or written."""
        if not self.is_over:
            self._failure = ConnectionAbortedError("The connection was cut.")
            self.is_over = True
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def is_spent(self) -> bool:
        """True for an idle connection that is no good for another exchange: it is over, something
        came that nobody asked for, or the last request was not read to its end."""
        transport = self._transport
        if self.is_over or self._received or transport is None or transport.is_closing():
            return True
        poll = select.poll()
        poll.register(transport.get_extra_info("socket"), select.POLLIN)
        return bool(transport.get_write_buffer_size() or poll.poll(0))

    # What comes beside bodies

    def begin_exchange(self) -> None:
        self.is_silent = False
        self._read_bytes = self._body_bytes = self._pieces = 0
        self._silent_bytes = self._framing_bytes = self._small_pieces = self._interims = 0

    def count_body(self, size_bytes: int) -> None:
        """A piece of body was in what has been read."""
        self._body_bytes += size_bytes
        self._pieces += 1

    def count_interim(self) -> None:
        self._interims += 1

    def expect_unwanted(self, size_bytes: int) -> None:
        """So much may come that is the body of calls which were given up."""
        self._unwanted_bytes += size_bytes

    def _account(self) -> None:
        """Judge what was read last. Raises RemoteProtocolError when too little of it is body."""
        read_bytes, body_bytes = self._read_bytes, self._body_bytes
        if self._unwanted_bytes and body_bytes < read_bytes:
            unwanted = min(self._unwanted_bytes, read_bytes - body_bytes)
            self._unwanted_bytes -= unwanted
            read_bytes -= unwanted
        if body_bytes + body_bytes < read_bytes:
            self._silent_bytes = 0 if body_bytes else self._silent_bytes + read_bytes
            self._framing_bytes += read_bytes - body_bytes
            self._small_pieces += self._pieces
        else:
            self._silent_bytes = 0
        self._read_bytes = self._body_bytes = self._pieces = 0
        if (
            self._silent_bytes > MAX_SILENT_BYTES
            or self._framing_bytes > MAX_FRAMING_BYTES
            or self._small_pieces > MAX_SMALL_PIECES
            or self._interims > MAX_INTERIM_ANSWERS
        ):
            self.cut()
            raise httpcore.RemoteProtocolError(
                "The headers or chunk extensions of the response are too long."
            )

    def _read_on(self) -> None:
        if not self._is_paused and self._transport is not None and not self.is_over:
            self._transport.resume_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def connect_through(stream: SocketStream, host: str, port: int, credential: str) -> None:
    """Ask a proxy for a connection to the host. credential: of the header, empty for none.

    Raises ProxyRefused when it says no, OSError when it says nothing that makes sense.
    """
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    shown = f"proxy-authorization: {credential}\r\n" if credential else ""
    stream.send(f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n{shown}\r\n".encode())
    head = bytearray()
    while b"\r\n\r\n" not in head:
        data = await stream.read(FEED_BYTES)
        head += data
        if not data or len(head) > MAX_CONNECT_HEAD_BYTES:
            raise ConnectionAbortedError("The response of the proxy is not HTTP.")
    status = _CONNECT_STATUS.match(head)
    if status is None:
        raise ConnectionAbortedError("The response of the proxy is not HTTP.")
    if not status[1].startswith(b"2"):
        raise ProxyRefused(int(status[1]))
    if not head.endswith(b"\r\n\r\n"):
        raise ConnectionAbortedError("The proxy sent data before the TLS handshake.")
