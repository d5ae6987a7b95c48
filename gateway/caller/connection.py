"""The caller's side of a call: ASGI on one side, the pipeline's Connection on the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from gateway.caller.answer_text import AnswerText, Headers
from gateway.core.asgi import Receive, Send
from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError
from gateway.core.events import Answer, WrittenEvent
from gateway.core.grant import Grant
from gateway.core.profiles import UNIFIED
from gateway.core.rate_limit_status import Rates
from gateway.core.receipt import Receipt
from gateway.core.request import Reply, RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.http.body import read_body
from gateway.http.rate_headers import rate_headers, rate_lines
from gateway.http.sse import END
from gateway.stages import Claim, KeptAnswer

MAX_TRANSCRIPT_BYTES = 1024 * 1024
# The kernel hands on half of a receive window, 32 KB at first, before it has taken the rest of a
# write: a reader on this host would see a frame torn there, and some join no reads.
MAX_WRITE_BYTES = 16 * 1024


class CallerConnection:
    """The caller's side of one call. encode: there once a stream was begun.

    body_limit: bytes. whole_credits: callers are told whole credits.
    """

    encode: Callable[[WrittenEvent], bytes]

    __slots__ = (
        "_claim",
        "_has_ended",
        "_has_head",
        "_head",
        "_last_bytes",
        "_receive",
        "_reply",
        "_send",
        "_sent_headers",
        "_takes_notes",
        "_text",
        "_transcript",
        "_write_now",
        "body_limit",
        "encode",
        "last_write",
        "profile",
        "rates",
        "whole_credits",
        "writing_since",
    )

    def __init__(
        self,
        endpoint: AnyEndpoint,
        head: RequestHead,
        receive: Receive,
        send: Send,
        reply: Reply | None,
    ) -> None:
        self._text = AnswerText(endpoint, head)
        self._head = head
        self._receive = receive
        self._send = send
        self.body_limit = 0
        self.whole_credits = False
        self._reply = reply
        self._write_now = None if reply is None else reply.write_now
        self._has_head = False
        self._has_ended = False
        self._claim: Claim | None = None
        self._takes_notes = False
        self._sent_headers: Headers = []
        self._transcript: list[bytes] = []
        self._last_bytes = b""
        self.profile = UNIFIED
        self.rates: Rates | None = None
        self.writing_since = 0.0
        self.last_write = 0.0

    def has_head(self) -> bool:
        """True when the answer's head is out, be it for a keep-alive alone."""
        return self._has_head

    def read_body(self, owner: str) -> Awaitable[bytes]:
        """Return the request's body, the key's `owner`. Raises as gateway.http.body says."""
        limit_bytes = self.profile.body_limit_bytes or self.body_limit
        return read_body(
            self._head, self._receive, limit_bytes, self._reply, owner, self._text.body_type
        )

    def begin(self, call: AnyCall, grant: Grant, claim: Claim | None) -> None:
        """Take note of what the answer has to look like, and whether it is to be kept."""
        self._claim = claim
        self._text.begin(call, grant, self.profile, whole_credits=self.whole_credits)
        self._takes_notes = claim is not None or (grant.stores_bodies and not self._text.is_raw)
        if (stream := self._text.stream) is not None:
            self.encode = stream.write

    def fall_back(self, call: AnyCall, grant: Grant) -> None:
        """Take note that another model is at it. A head that is out cannot say so any more: the
        last frames will."""
        self.begin(call, grant, self._claim)
        if self._has_head and self._text.stream is not None:
            self._text.stream.fallback = (grant.fallback_from, grant.fallback_depth)

    async def wait_for_hang_up(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def transcript(self, receipt: Receipt | None, answer: Answer | None) -> str:
        """Return what was written, for workspaces that store bodies; with the receipt of a call
        that came to its end, also what is still to be. Of what is no text its type."""
        if self._text.is_raw:
            return f"[{self._text.answer_type}]"
        if receipt is not None:
            self._last_bytes = self._last_bytes or self._text.last(receipt, answer)
            if self._text.stream is not None and self._text.stream.ends_with_whole:
                last = self._last_bytes.rstrip().rpartition(END)[2]
                return last.decode(errors="replace")
        written = b"".join((*self._transcript, self._last_bytes))
        return written[:MAX_TRANSCRIPT_BYTES].decode(errors="replace")

    def write_at_once(self, frames: bytes) -> bool:
        """Write whole frames behind others if that takes no waiting. Returns whether it did."""
        now = self._write_now
        if now is None or not self._has_head or len(frames) > MAX_WRITE_BYTES or not now(frames):
            return False
        if self._takes_notes:
            self._transcript.append(frames)
        self.last_write = time.monotonic()
        return True

    async def write(self, frames: bytes) -> None:
        """Write whole frames of the stream, the head before the first."""
        if not self._has_head:
            await self._send_head(200, self._text.stream_headers())
        while len(frames) > MAX_WRITE_BYTES:
            end = find_cut(frames)
            await self._send_body(frames[:end], more=True)
            frames = frames[end:]
        if self._takes_notes:
            self._transcript.append(frames)
        self.last_write = self.writing_since = time.monotonic()
        await self._send({"type": "http.response.body", "body": frames, "more_body": True})
        self.writing_since = 0.0

    async def keep_alive(self) -> None:
        """Write a comment, committing the head if that has not gone out."""
        if self._has_ended or self.writing_since or self._text.is_raw:
            return
        if not self._has_head:
            await self._send_head(200, self._text.stream_headers())
        assert self._text.stream is not None
        await self._send_body(self._text.stream.keep_alive, more=True)

    async def finish(self, receipt: Receipt) -> None:
        """Write the last frames of the stream."""
        frames = self._last_bytes or self._text.last(receipt, None)
        if not self._has_head:
            await self._send_head(200, self._text.stream_headers())
        self._has_ended = True
        await self._send_body(frames, more=False)

    def whole(
        self, receipt: Receipt, answer: Answer | None, error: BaseException | None
    ) -> tuple[int, Headers, bytes]:
        """Return the whole answer of a call that has ended, the last bytes still unwritten."""
        known = error if isinstance(error, GatewayError) or error is None else GatewayError()
        # Half a file is no answer to keep.
        if known is not None and (not self._has_head or self._text.is_raw):
            return self._text.error_response(known, self.profile)
        last = self._text.last(receipt, answer) if known is None else self._text.failure(known)
        self._last_bytes = last
        if answer is not None:
            answer.forget()
            return (
                200,
                self._text.buffered_headers(last, receipt),
                last,
            )
        headers = self._sent_headers if self._has_head else self._text.stream_headers()
        return 200, headers, b"".join(self._transcript) + last

    async def replay(self, kept: KeptAnswer) -> None:
        """Write the answer that the same request had before."""
        self._has_ended = True
        headers = [*kept.headers, (b"idempotent-replayed", b"true")]
        await self._send_head(kept.status, headers)
        await self._send_body(kept.body, more=False)

    async def send_answer(self, answer: Answer, receipt: Receipt) -> None:
        """Write the buffered answer."""
        body = self._last_bytes or self._text.last(receipt, answer)
        headers, reply = self._text.buffered_headers(body, receipt), self._reply
        # Middleware adds headers, and has a `send` of its own for that.
        is_direct = getattr(self._send, "__self__", None) is reply
        if reply is not None and is_direct and not self._has_head:
            more_lines = b"" if self.rates is None else rate_lines(self.rates)
            if reply.write_answer(headers, body, more_lines):
                self._has_head = self._has_ended = True
                self._sent_headers = headers
                return
        await self._send_head(200, headers)
        self._has_ended = True
        await self._send_body(body, more=False)

    async def send_body(self, body: bytes) -> None:
        """Write an answer that no model gave."""
        await self._send_head(200, self._text.plain_headers(body, self.profile))
        self._has_ended = True
        await self._send_body(body, more=False)

    async def refuse(self, error: GatewayError) -> None:
        """Word a failure: as an HTTP error, or as the stream's last event if it had begun. Where a
        stream has no events, the connection breaks: whoever reads it sees that it is incomplete."""
        if self._has_ended:
            return
        if self._has_head and self._text.is_raw:
            await self.cut()
            return
        self._has_ended = True
        if self._has_head and self._text.stream is not None:
            await self._send_body(self._last_bytes or self._text.failure(error), more=False)
            return
        status, headers, body = self._text.error_response(error, self.profile)
        await self._send_head(status, headers)
        await self._send_body(body, more=False)

    async def end_unread(self) -> None:
        """End a response nobody reads. Without a head the server would log an error of ours."""
        if self._has_ended:
            return
        self._has_ended = True
        if not self._has_head:
            await self._send_head(499, [(b"content-length", b"0")])
        await self._send_body(b"", more=False)

    async def cut(self) -> None:
        """Break a connection whose other end does not read. ASGI has no word for it, and a
        polite end would wait for the reader for ever, so the server's transport is asked."""
        self._has_ended = True
        transport = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is not None:
            transport.abort()
            # The server learns of it in the loop's next turn; before, it would log a fault.
            await asyncio.sleep(0)

    async def _send_head(self, status: int, headers: Headers) -> None:
        self._has_head = True
        self._sent_headers = headers
        if self.rates is not None:
            headers = headers + rate_headers(self.rates, status)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        """Write; while it waits for the caller to read, writing_since says since when."""
        if self._takes_notes:
            self._transcript.append(body)
        self.last_write = self.writing_since = time.monotonic()
        try:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        finally:
            self.writing_since = 0.0


def find_cut(frames: bytes) -> int:
    """Return how many bytes, of frames too many for one write, to write first: whole frames. Bytes
    without frames may be cut anywhere."""
    end = frames.rfind(END, 0, MAX_WRITE_BYTES)
    if end < 0:
        end = frames.find(END)
    return end + len(END) if end >= 0 else MAX_WRITE_BYTES
