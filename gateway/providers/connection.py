"""One connection to a provider: a request written in one piece, its answer parsed as it arrives.

The parser is httptools (llhttp), the sockets and TLS are the event loop's. One exchange at a
time; what an exchange needs remembered is in its NetworkResponse, so nothing of one call can be
seen by the next on the same connection.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

PIECE_BYTES = 32 * 1024
# More than this is not read from a socket while nobody takes what has arrived.
HIGH_WATER_BYTES = 64 * 1024
MAX_JOINED_BYTES = 64 * 1024  # one write of a copy costs less than a write of two pieces
# So much may come without a byte of body among it: a head, interim answers, trailers.
MAX_SILENT_BYTES = 64 * 1024
# And so much in reads that have more framing than body: a chunk of a byte takes as long as any.
MAX_FRAMING_BYTES = 256 * 1024
DRAIN_S = 0.25


class BrokenOff(ConnectionError):
    """The provider ended the connection before its answer was complete, or sent what is none."""


class NetworkResponse:
    """An answer that comes over a socket. status is 0 until its head is there."""

    broken_by: tuple[type[Exception], ...] = (BrokenOff,)

    __slots__ = (
        "_broken",
        "_connection",
        "_fields",
        "_take",
        "_waiter",
        "chunks",
        "is_complete",
        "is_encoded",
        "is_paused",
        "size_bytes",
        "status",
    )

    def __init__(self, connection: Connection) -> None:
        self.status = 0
        self.is_encoded = False
        self.is_complete = False
        self._connection = connection
        self._fields: list[tuple[bytes, bytes]] = []
        self.chunks: list[bytes] = []
        self.size_bytes = 0
        self.is_paused = False
        self._broken = ""
        self._take: Callable[[bytes], bool] | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, names in lower case; of a name that comes twice the last."""
        fields = self._fields
        return {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in fields}

    async def head(self) -> None:
        """Wait until the head has arrived. Raises BrokenOff."""
        while not self.status:
            if self._broken:
                raise BrokenOff(self._broken)
            await self._wait()

    async def read(self) -> bytes:
        """Return at most PIECE_BYTES of what has arrived of the body, waiting for some; empty at
        its end. Raises BrokenOff behind the last byte of an answer that is not complete."""
        while not self.chunks:
            if self._is_at_end():
                return b""
            await self._wait()
        return self._take_piece()

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        """Hand over each piece of the body as it arrives, until `take` says False; return whether
        it did: else this is the end. Raises as read does, and whatever `take` raises.

        A piece that nobody waits to be woken for costs half as much as one that is read.
        """
        while True:
            while self.chunks:
                if not take(self._take_piece()):
                    return True
                if self.chunks:
                    await asyncio.sleep(0)  # a piece of many events takes a while
            if self._is_at_end():
                return False
            self._take = take
            try:
                await self._wait()
                if self._is_refused():
                    return True
            finally:
                self._take = None

    def _is_refused(self) -> bool:
        """True when hand_over was told False: it then has nobody to hand to any more."""
        return self._take is None

    def _is_at_end(self) -> bool:
        if self._broken and not self.is_complete:
            raise BrokenOff(self._broken)
        return self.is_complete

    def _take_piece(self) -> bytes:
        chunks = self.chunks
        piece = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        if len(piece) > PIECE_BYTES:
            chunks.append(piece[PIECE_BYTES:])
            piece = piece[:PIECE_BYTES]
        self.size_bytes -= len(piece)
        if self.is_paused and self.size_bytes <= HIGH_WATER_BYTES:
            self.is_paused = False
            self._connection.resume_reading()
        return piece

    async def drain(self) -> None:
        """Read on to the end if that is near, so that the connection can be used again."""
        if self.is_complete:
            return
        try:
            async with asyncio.timeout(DRAIN_S):
                while await self.read():
                    pass
        except (TimeoutError, BrokenOff):
            pass

    def release(self) -> None:
        """Give the connection back when the whole answer has arrived, else cut it."""
        self._connection.release(self)

    async def _wait(self) -> None:
        self._waiter = self._connection.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # What the connection says

    def on_field(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))
        if len(name) == 16 and name.lower() == b"content-encoding":
            self.is_encoded |= value.strip().lower() not in (b"", b"identity")

    def on_head(self, status: int) -> None:
        self.status = status
        self._wake()

    def on_much(self) -> None:
        """More has arrived than may lie here."""
        if not self.is_paused:
            self.is_paused = True
            self._connection.pause_reading()

    def hand_over(self) -> None:
        """Give a piece of what has arrived to who takes it, and the rest when the loop has been
        around; who does not want more is woken."""
        take, waiter = self._take, self._waiter
        if waiter is None or waiter.done():
            return
        if take is None:
            if self.chunks:
                self._wake()
            return
        try:
            if self.chunks and not take(self._take_piece()):
                self._take = None
                self._wake()
            elif self.chunks:
                self._connection.loop.call_soon(self.hand_over)
        except BaseException as error:
            self._take = None
            waiter.set_exception(error)

    def on_end(self) -> None:
        self.is_complete = True
        self._wake()

    def on_break(self, reason: str) -> None:
        if not self.is_complete and not self._broken:
            self._broken = reason
            self._wake()

    def ends_with_connection(self) -> bool:
        """True for an answer that has a head, and says of no other end (RFC 9112, 6.3)."""
        framing = (b"content-length", b"transfer-encoding")
        return self.status > 0 and not any(name.lower() in framing for name, _ in self._fields)

    def is_coded(self) -> bool:
        """True for a body in chunks or otherwise coded for the way. HTTP/1.0 knows no such thing:
        what was between it and us may see another end than we do (RFC 9112, 6.1)."""
        return any(name.lower() == b"transfer-encoding" for name, _ in self._fields)

    def forget_fields(self) -> None:
        self._fields.clear()
        self.is_encoded = False

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Connection(asyncio.Protocol):
    """A connection, idle or with one exchange on it.

    idle: where it waits when an exchange is over and it can carry another. alive: where it is
    from the moment it is made until it is lost.
    """

    __slots__ = (
        "_alive",
        "_framing_bytes",
        "_idle",
        "_is_old",
        "_is_reusable",
        "_parser",
        "_response",
        "_silent_bytes",
        "_transport",
        "idle_since",
        "loop",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, idle: list[Connection], alive: set[Connection]
    ) -> None:
        # Asking which loop runs is a system call (CPython 3.11).
        self.loop = loop
        self.idle_since = 0.0
        self._is_old: bool | None = None
        self._is_reusable = False
        self._idle = idle
        self._alive = alive
        self._parser: Any = None
        self._response: NetworkResponse | None = None
        self._transport: Any = None
        self._silent_bytes = 0
        self._framing_bytes = 0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_spent(self) -> bool:
        """True when something has come that the event loop has not looked at yet: bytes that
        nobody asked for, or the end."""
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))

    def ask(self, head: bytes, body: bytes) -> NetworkResponse:
        """Send a request and return its answer to be."""
        self._response = response = NetworkResponse(self)
        self._is_reusable = False
        self._silent_bytes = self._framing_bytes = 0
        if len(body) > MAX_JOINED_BYTES:
            self._transport.writelines((head, body))
        else:
            self._transport.write(head + body)
        return response

    def release(self, response: NetworkResponse) -> None:
        """End an exchange. The connection ends with it unless both sides have said all."""
        if self._response is not response:
            return
        self._response = None
        if (
            self._is_reusable
            and self.is_open
            and not response.is_paused
            and not self._transport.get_write_buffer_size()
        ):
            self.idle_since = time.monotonic()
            self._idle.append(self)
        else:
            response.on_break("The answer was given up.")
            self.cut()

    def cut(self) -> None:
        """Close at once, whatever is still to be read or written."""
        if self._transport is not None:
            self._transport.abort()

    def pause_reading(self) -> None:
        if self.is_open:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self.is_open:
            self._transport.resume_reading()

    # What the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._parser = HttpResponseParser(self)
        self._alive.add(self)
        if (sock := transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None:
            # Nobody asked: whatever it says would be taken for the answer to the next request.
            self.cut()
            return
        size_bytes = response.size_bytes
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            response.on_break(f"The answer is not valid HTTP: {error!r}")
            self.cut()
        body_bytes = response.size_bytes - size_bytes
        if body_bytes + body_bytes < len(data) and not response.is_complete:
            self._count_framing(response, len(data) - body_bytes, body_bytes)
        else:
            self._silent_bytes = 0
        response.hand_over()

    def _count_framing(self, response: NetworkResponse, size_bytes: int, body_bytes: int) -> None:
        """Count what came beside the body; give up an answer that is little else."""
        self._silent_bytes = 0 if body_bytes else self._silent_bytes + size_bytes
        self._framing_bytes += size_bytes
        if self._silent_bytes > MAX_SILENT_BYTES or self._framing_bytes > MAX_FRAMING_BYTES:
            response.on_break("The head of the answer, or what is between its pieces, is too long.")
            self.cut()

    def eof_received(self) -> None:
        """The provider says no more. What it has not read of the request is of no use either."""
        response = self._response
        if response is not None and response.ends_with_connection():
            response.on_end()
        self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._response is not None:
            reason = "The connection was closed." if exc is None else repr(exc)
            self._response.on_break(reason)
        elif self in self._idle:
            self._idle.remove(self)
        self._alive.discard(self)
        self._parser = self._transport = None  # they hold this object, too

    # What the parser says

    def on_message_begin(self) -> None:
        if self._response is not None and self._response.is_complete:
            # A second answer to one request: the connection is out of step.
            self.cut()

    def on_header(self, name: bytes, value: bytes) -> None:
        response = self._response
        if response is not None and not response.status:
            response.on_field(name, value)

    def on_headers_complete(self) -> None:
        response = self._response
        if response is None or response.status:
            return
        status = self._parser.get_status_code()
        if status < 200:
            response.forget_fields()  # interim: the answer is still to come
            return
        if self._is_old is None:  # once a connection: the parser formats a text every time
            self._is_old = self._parser.get_http_version() == "1.0"
        response.on_head(status)

    def on_body(self, body: bytes) -> None:
        response = self._response
        if response is not None and not response.is_complete:
            response.chunks.append(body)
            response.size_bytes += len(body)
            if response.size_bytes > HIGH_WATER_BYTES:
                response.on_much()

    def on_message_complete(self) -> None:
        response = self._response
        if response is not None and response.status and not response.is_complete:
            # These have no body. Not every provider knows, and what it sends would come next.
            has_body = response.status not in (204, 304)
            is_sound = has_body and not (self._is_old and response.is_coded())
            self._is_reusable = is_sound and self._parser.should_keep_alive()
            response.on_end()
