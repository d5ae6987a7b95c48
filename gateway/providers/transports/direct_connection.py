"""One connection to a provider: a request written in one piece, its answer parsed as it arrives.

The parser is httptools (llhttp), the sockets and TLS are the event loop's. One exchange at a
time; what an exchange needs remembered is in its DirectResponse, so nothing of one call can be
seen by the next on the same connection.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from gateway.providers.transports.direct_response import HIGH_WATER_BYTES, DirectResponse
from gateway.providers.transports.loop_quotas import LoopQuotas

# What arrives is parsed in parts of this size: how little body is in it shows after each.
FEED_BYTES = 16 * 1024
MAX_JOINED_BYTES = 64 * 1024  # one write of a copy costs less than a write of two pieces
# So much may come without a byte of body among it: a head, interim answers, trailers.
MAX_SILENT_BYTES = 64 * 1024
# And so much, and so many pieces of body, in reads that have more framing than body: a chunk of a
# byte takes as long as any.
MAX_FRAMING_BYTES = 256 * 1024
MAX_SMALL_PIECES = 20_000
MAX_INTERIM_ANSWERS = 200


class Connection(asyncio.Protocol):
    """A connection, idle or with one exchange on it.

    idle: where it waits when an exchange is over and it can carry another. alive: where it is
    from the moment it is made until it is lost.
    """

    __slots__ = (
        "_alive",
        "_framing_bytes",
        "_idle",
        "_interims",
        "_is_old",
        "_is_reusable",
        "_parser",
        "_response",
        "_silent_bytes",
        "_small_pieces",
        "_transport",
        "idle_since",
        "loop",
        "quotas",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        idle: list[Connection],
        alive: set[Connection],
        quotas: LoopQuotas,
    ) -> None:
        # Asking which loop runs is a system call (CPython 3.11).
        self.loop = loop
        self.quotas = quotas
        self.idle_since = 0.0
        self._is_old: bool | None = None
        self._is_reusable = False
        self._idle = idle
        self._alive = alive
        self._parser: Any = None
        self._response: DirectResponse | None = None
        self._transport: Any = None
        self._silent_bytes = 0
        self._framing_bytes = 0
        self._small_pieces = 0
        self._interims = 0

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

    def ask(self, head: bytes, body: bytes) -> DirectResponse:
        """Send a request and return its answer to be."""
        self._response = response = DirectResponse(self)
        self._is_reusable = False
        self._silent_bytes = self._framing_bytes = self._small_pieces = self._interims = 0
        if len(body) > MAX_JOINED_BYTES:
            self._transport.writelines((head, body))
        else:
            self._transport.write(head + body)
        return response

    def release(self, response: DirectResponse) -> None:
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
            response.on_break("The response was abandoned.")
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
        if len(data) <= FEED_BYTES:
            self._feed(response, data)
        else:
            parts = memoryview(data)
            for start in range(0, len(data), FEED_BYTES):
                self._feed(response, parts[start : start + FEED_BYTES])
                if not self.is_open:
                    break
        response.hand_over()

    def _feed(self, response: DirectResponse, data: bytes | memoryview) -> None:
        size_bytes, pieces = response.size_bytes, len(response.chunks)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            response.on_break(f"The response is not valid HTTP: {error!r}")
            self.cut()
        body_bytes = response.size_bytes - size_bytes
        if body_bytes + body_bytes < len(data) and not response.is_complete:
            self._small_pieces += len(response.chunks) - pieces
            self._count_framing(response, len(data) - body_bytes, body_bytes)
        else:
            self._silent_bytes = 0

    def _count_framing(self, response: DirectResponse, size_bytes: int, body_bytes: int) -> None:
        """Count what came beside the body; give up an answer that is little else."""
        self._silent_bytes = 0 if body_bytes else self._silent_bytes + size_bytes
        self._framing_bytes += size_bytes
        if (
            self._silent_bytes > MAX_SILENT_BYTES
            or self._framing_bytes > MAX_FRAMING_BYTES
            or self._small_pieces > MAX_SMALL_PIECES
            or self._interims > MAX_INTERIM_ANSWERS
        ):
            response.on_break("The headers or chunk extensions of the response are too long.")
            self.cut()

    def eof_received(self) -> None:
        """The provider says no more. What it has not read of the request is of no use either."""
        response = self._response
        if response is not None and ends_with_connection(response):
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
            # Here, not in a method of the response: answers have up to 30 of them.
            response.fields.append((name, value))
            if len(name) == 16 and name.lower() == b"content-encoding":
                response.is_encoded |= value.strip().lower() not in (b"", b"identity")

    def on_headers_complete(self) -> None:
        response = self._response
        if response is None or response.status:
            return
        status = self._parser.get_status_code()
        if status < 200:
            response.fields.clear()  # interim: the answer is still to come
            response.is_encoded = False
            self._interims += 1
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
            is_sound = has_body and not (self._is_old and is_coded(response))
            self._is_reusable = is_sound and self._parser.should_keep_alive()
            response.on_end()


def ends_with_connection(response: DirectResponse) -> bool:
    """True for an answer that has a head, and says of no other end (RFC 9112, 6.3)."""
    framing = (b"content-length", b"transfer-encoding")
    return response.status > 0 and not any(name.lower() in framing for name, _ in response.fields)


def is_coded(response: DirectResponse) -> bool:
    """True for a body in chunks or otherwise coded for the way. HTTP/1.0 knows no such thing:
    what was between it and us may see another end than we do (RFC 9112, 6.1)."""
    return any(name.lower() == b"transfer-encoding" for name, _ in response.fields)
