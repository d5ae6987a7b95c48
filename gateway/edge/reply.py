"""The way out of one request: what uvicorn's own `send` does, in fewer steps.

uvicorn looks at each header with two patterns and writes a head before the first byte behind it.
Here one look at the whole head says as much, and a buffered answer is one write; so is the
beginning of a stream, with all of it that is there at once. Whatever is not usual (another status
than 200, HEAD, the end of a connection) is left to uvicorn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gateway.core.asgi import Message
from gateway.edge.body_budget import COPIES, BodyHold
from gateway.edge.refusal_rate import RefusalRate

# Up to here one write of a copy costs less than a write of two pieces.
MAX_JOINED_BYTES = 64 * 1024
CLOSE = (b"connection", b"close")
LAST_CHUNK = b"0\r\n\r\n"
# All that may be in a header: no control characters.
PRINTED = bytes(byte for byte in range(256) if byte >= 0x20 and byte != 0x7F) + b"\t"


class Reply(RequestResponseCycle):
    """What a cycle becomes before it runs (gateway.edge.protocol)."""

    refusal_rate = RefusalRate(0, ())

    # What its body takes of the memory for bodies, and the key that it belongs to once an
    # application has that body: it gives the memory back then, else the protocol does.
    hold: BodyHold | None = None
    body_owner = ""
    # Its body is handed on as it arrives: only what waits to be taken is in memory.
    is_streamed = False
    # The client is told that the connection ends with this answer.
    says_close = False
    # The head of an answer whose length is known, until its body comes.
    _head = b""
    _length_bytes = 0
    # The beginning of a stream, until the loop has done what is ready now.
    _beginning = b""
    _ends_with_connection = False

    async def send(self, message: Message) -> None:  # type: ignore[override]
        """Take one ASGI message. Raises RuntimeError for one that is out of order."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if self._head:
            if self._write_whole(message):
                return
        elif self.response_started:
            if self._write_piece(message):
                return
        elif self._take_head(message):
            return
        elif message["type"] == "http.response.start":
            message = await self._begin(message)
        self._flush()
        if self._ends_with_connection:
            self.expected_content_length = len(message.get("body", b""))  # so far as uvicorn asks
        await super().send(message)  # type: ignore[arg-type]

    async def _begin(self, message: Message) -> Message:
        """Return the head of an answer as it is to be written. A client that is refused often waits
        for it (gateway.edge.refusal_rate)."""
        now = asyncio.get_running_loop().time()
        delay_s = self.refusal_rate.delay_s(message["status"], self.scope, now)
        if delay_s:
            await asyncio.sleep(delay_s)
        if not self.says_close:
            return message
        return {**message, "headers": [*message.get("headers", ()), CLOSE]}

    def claim_body(self, owner: str) -> None:
        """Take note of whose the body is. Raises Overloaded for one that says it is longer than
        there is room for."""
        self.body_owner = owner
        if self.hold is not None:
            self.hold.move_to(owner)
            self.check_length(self.hold)

    def check_length(self, hold: BodyHold) -> None:
        """Raise Overloaded when the length that the head tells is more than there is room for."""
        length_bytes = int(dict(self.scope["headers"]).get(b"content-length", 0))
        if self.more_body and length_bytes and not self.is_streamed:
            hold.check(COPIES * length_bytes - hold.size_bytes)

    def take_body(self) -> bytes | None:
        """As gateway.core.request.Reply: what `receive` would tell first, without waiting."""
        is_whole = not self.more_body and not self.waiting_for_100_continue
        if not is_whole or self.hold is not None or self.disconnected or self.response_complete:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.message_event.clear()
        return body

    def give_back(self, size_bytes: int) -> None:
        """Give back the memory of so much of a body that is handed on as it arrives."""
        if self.hold is not None:
            self.hold.shrink(size_bytes)

    def release_body(self) -> None:
        """Give the memory of the body back, and what is left of it."""
        if self.hold is not None:
            self.hold.close()
            self.body = bytearray()

    def write_now(self, body: bytes) -> bool:
        """Write a piece of a body of no stated length if nothing is in its way. Returns whether."""
        is_open = self.chunked_encoding and self.response_started and not self.response_complete
        if not is_open or not body or self.flow.write_paused or self.disconnected:
            return False
        self._write_behind(b"%x\r\n%b\r\n" % (len(body), body))
        return True

    def write_answer(
        self, headers: Sequence[tuple[bytes, bytes]], body: bytes, more_lines: bytes = b""
    ) -> bool:
        """As gateway.core.request.Reply: in one write, without ASGI's two messages."""
        is_usual = self.keep_alive and not self.access_log and len(body) <= MAX_JOINED_BYTES
        if not is_usual or self.response_started or self.flow.write_paused or self.disconnected:
            return False
        all_headers = (*self.default_headers, *headers)
        fields = b"\r\n".join(map(b": ".join, all_headers))
        if self._head or fields.translate(None, PRINTED) != b"\r\n" * (len(all_headers) - 1):
            return False
        self.waiting_for_100_continue = False
        self.response_started = True
        self.transport.write(b"%b%b\r\n%b\r\n%b" % (STATUS_LINE[200], fields, more_lines, body))
        self._complete()
        return True

    def _write_piece(self, message: Message) -> bool:
        """Write a piece of a stream, the last one only together with the beginning. Returns
        whether."""
        if message.get("more_body"):
            return self.write_now(message.get("body", b""))
        if not self._beginning or message["type"] != "http.response.body":
            return False
        body = message.get("body", b"")
        self._write_behind(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else LAST_CHUNK)
        self._flush()
        self._complete()
        return True

    def _write_behind(self, data: bytes) -> None:
        """Write behind the beginning of a stream, or together with it."""
        if not self._beginning:
            self.transport.write(data)
            return
        self._beginning += data
        if len(self._beginning) > MAX_JOINED_BYTES:
            self._flush()

    def _flush(self) -> None:
        beginning, self._beginning = self._beginning, b""
        if beginning and not self.disconnected:
            self.transport.write(beginning)

    def _take_head(self, message: Message) -> bool:
        """Keep the head of an answer whose length it says, write any other. Returns False, having
        done nothing, for what is not usual."""
        is_usual = message["type"] == "http.response.start" and message["status"] == 200
        if not is_usual or self.access_log or not self.keep_alive:
            if self.scope["http_version"] == "1.0":
                self._frame_without_chunks(message)
            return False
        if self.scope["method"] == "HEAD":
            return False
        # Django writes Content-Length, and what is not seen here would be framed twice.
        headers = [
            (name.lower(), value)
            for name, value in (*self.default_headers, *message.get("headers", ()))
        ]
        by_name = dict(headers)
        if b"connection" in by_name or b"transfer-encoding" in by_name:
            return False
        length = by_name.get(b"content-length")
        length_bytes = None if length is None else int(length)
        fields = b"".join([b"%b: %b\r\n" % field for field in headers])
        if fields.translate(None, PRINTED) != b"\r\n" * len(headers):
            return False
        self.waiting_for_100_continue = False
        if length_bytes is None:
            self.response_started = self.chunked_encoding = True
            head = (STATUS_LINE[200], fields, b"transfer-encoding: chunked\r\n\r\n")
            self._beginning = b"".join(head)
            asyncio.get_running_loop().call_soon(self._flush)
            return True
        self._length_bytes = length_bytes
        self._head = b"".join((STATUS_LINE[200], fields, b"\r\n"))
        return True

    def _frame_without_chunks(self, message: Message) -> None:
        """Let an answer of no stated length end with its connection: HTTP/1.0 knows no chunks."""
        names = [name.lower() for name, _ in message.get("headers", ())]
        if b"content-length" not in names:
            self._ends_with_connection = True
            self.chunked_encoding = False

    def _write_whole(self, message: Message) -> bool:
        """Write the head that was kept, and the answer if this is all of it. Returns whether."""
        head, self._head = self._head, b""
        self.response_started = True
        body = message.get("body", b"")
        if message.get("more_body") or len(body) != self._length_bytes:
            self.chunked_encoding = False
            self.expected_content_length = self._length_bytes
            self.transport.write(head)
            return False
        if len(body) > MAX_JOINED_BYTES:
            self.transport.writelines((head, body))
        else:
            self.transport.write(head + body)
        self._complete()
        return True

    def _complete(self) -> None:
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
