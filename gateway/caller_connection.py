"""The caller's side of a call: ASGI on one side, the pipeline's Connection on the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway import answer_headers
from gateway.core.call import AnyCall
from gateway.core.errors import GatewayError
from gateway.core.events import Answer, WrittenEvent
from gateway.core.grant import Grant
from gateway.core.profiles import UNIFIED
from gateway.core.rate_limits import Rates
from gateway.core.receipt import Receipt
from gateway.core.request import Reply, RequestHead
from gateway.endpoints.base import AnswerForm, AnyEndpoint, StreamWriter, Writer
from gateway.http.body import read_body
from gateway.http.error_response import error_response
from gateway.http.rate_headers import rate_headers
from gateway.stages import Claim, KeptAnswer

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

MAX_TRANSCRIPT_BYTES = 1024 * 1024
# The kernel hands on half of a receive window, 32 KB at first, before it has taken the rest of a
# write: a reader on this host would see a frame torn there, and some join no reads.
MAX_WRITE_BYTES = 16 * 1024
FRAME_END = b"\n\n"


class CallerConnection:
    """The caller's side of one call. encode: there once a stream was begun.

    body_limit: bytes. whole_credits: callers are told whole credits.
    """

    encode: Callable[[WrittenEvent], bytes]

    __slots__ = (
        "_claim",
        "_endpoint",
        "_form",
        "_grant",
        "_has_ended",
        "_has_head",
        "_head",
        "_is_replayed",
        "_last_bytes",
        "_receive",
        "_reply",
        "_send",
        "_sent_headers",
        "_stream_writer",
        "_takes_notes",
        "_transcript",
        "_write_now",
        "_writer",
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
        self._endpoint = endpoint
        self._head = head
        self._receive = receive
        self._send = send
        self.body_limit = 0
        self.whole_credits = False
        self._reply = reply
        self._write_now = None if reply is None else reply.write_now
        self._has_head = False
        self._has_ended = False
        self._is_replayed = False
        self._writer: Writer | None = None
        self._stream_writer: StreamWriter | None = None
        self._form: AnswerForm | None = None
        self._claim: Claim | None = None
        self._takes_notes = False
        self._sent_headers: Headers = []
        self._grant: Grant | None = None
        self._transcript: list[bytes] = []
        self._last_bytes = b""
        self.profile = UNIFIED
        self.rates: Rates | None = None
        self.writing_since = 0.0
        self.last_write = 0.0

    def has_head(self) -> bool:
        """True when the answer's head is out, be it for a keep-alive alone."""
        return self._has_head

    async def read_body(self, owner: str) -> bytes:
        """Return the request's body, the key's `owner`. Raises as gateway.http.body says."""
        limit_bytes = self.profile.body_limit_bytes or self.body_limit
        return await read_body(self._head, self._receive, limit_bytes, self._reply, owner)

    def begin(self, call: AnyCall, grant: Grant, claim: Claim | None) -> None:
        """Take note of what the answer has to look like, and whether it is to be kept."""
        self._grant, self._claim = grant, claim
        self._takes_notes = grant.stores_bodies or claim is not None
        self._form = AnswerForm(
            answer_id=self.profile.id_prefix + grant.shown_id,
            call_id=grant.shown_id,
            model=grant.model,
            created=int(grant.identity.at),
            profile=self.profile,
            episode_id=grant.identity.episode_id,
            whole_credits=self.whole_credits,
        )
        self._is_replayed = call.payload.is_replayed
        if call.facts.stream:
            self._stream_writer = self._endpoint.open_stream_writer(call, self._form)
            self.encode = self._stream_writer.write
        else:
            self._writer = self._endpoint.open_writer(call, self._form)

    def fall_back(self, call: AnyCall, grant: Grant) -> None:
        """Take note that another model is at it. A head that is out cannot say so any more: the
        last frames will."""
        self.begin(call, grant, self._claim)
        if self._has_head and self._stream_writer is not None:
            self._stream_writer.fallback = (grant.fallback_from, grant.fallback_depth)

    async def wait_for_hang_up(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def transcript(self, receipt: Receipt | None, answer: Answer | None) -> str:
        """Return what was written, for workspaces that store bodies; with the receipt of a call
        that came to its end, also what is still to be."""
        if receipt is not None:
            self._last_bytes = self._last_bytes or self._write_last(receipt, answer)
        written = b"".join((*self._transcript, self._last_bytes))
        return written[:MAX_TRANSCRIPT_BYTES].decode(errors="replace")

    def _write_last(self, receipt: Receipt, answer: Answer | None) -> bytes:
        """Return the last frames of a stream, or the body of a buffered answer."""
        if answer is None:
            assert self._stream_writer is not None
            return b"".join(self._stream_writer.close(receipt))
        assert self._writer is not None
        return self._writer.write_answer(answer, receipt)

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
            await self._send_head(200, self._stream_headers())
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
        if self._has_ended or self.writing_since:
            return
        if not self._has_head:
            await self._send_head(200, self._stream_headers())
        assert self._stream_writer is not None
        await self._send_body(self._stream_writer.keep_alive, more=True)

    async def finish(self, receipt: Receipt) -> None:
        """Write the last frames of the stream."""
        frames = self._last_bytes or self._write_last(receipt, None)
        if not self._has_head:
            await self._send_head(200, self._stream_headers())
        self._has_ended = True
        await self._send_body(frames, more=False)

    def whole(
        self, receipt: Receipt, answer: Answer | None, error: BaseException | None
    ) -> tuple[int, Headers, bytes]:
        """Return the whole answer of a call that has ended, the last bytes still unwritten."""
        known = error if isinstance(error, GatewayError) or error is None else GatewayError()
        if known is not None and not self._has_head:
            return self._error_response(known)
        last = self._write_last(receipt, answer) if known is None else self._write_failure(known)
        self._last_bytes = last
        if answer is not None:
            answer.forget()
            return (
                200,
                answer_headers.of_buffered(self._head, *self._granted(), last, receipt),
                last,
            )
        headers = self._sent_headers if self._has_head else self._stream_headers()
        return 200, headers, b"".join(self._transcript) + last

    async def replay(self, kept: KeptAnswer) -> None:
        """Write the answer that the same request had before."""
        self._has_ended = True
        headers = [*kept.headers, (b"idempotent-replayed", b"true")]
        await self._send_head(kept.status, headers)
        await self._send_body(kept.body, more=False)

    async def send_answer(self, answer: Answer, receipt: Receipt) -> None:
        """Write the buffered answer."""
        assert self._form is not None
        body = self._last_bytes or self._write_last(receipt, answer)
        await self._send_head(
            200, answer_headers.of_buffered(self._head, *self._granted(), body, receipt)
        )
        self._has_ended = True
        await self._send_body(body, more=False)

    async def refuse(self, error: GatewayError) -> None:
        """Word a failure: as an HTTP error, or as the stream's last event if it had begun."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._has_head and self._stream_writer is not None:
            await self._send_body(self._last_bytes or self._write_failure(error), more=False)
            return
        status, headers, body = self._error_response(error)
        await self._send_head(status, headers)
        await self._send_body(body, more=False)

    def _error_response(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        status, headers, body = error_response(error, self._shown_id(), self.profile)
        common = answer_headers.common(self._head, self.profile, self._grant)
        return status, common + headers, body

    def _write_failure(self, error: GatewayError) -> bytes:
        """Return the last frames of a stream that fails."""
        writer = self._stream_writer
        assert writer is not None
        frames = b"" if writer.is_open else writer.open()
        return frames + writer.fail(error)

    async def hang_up(self) -> None:
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

    def _stream_headers(self) -> Headers:
        headers = answer_headers.of_stream(self._head, *self._granted())
        if self._is_replayed:
            headers.append((b"x-stream-mode", b"buffered-replay"))
        return headers

    def _granted(self) -> tuple[Grant, AnswerForm]:
        assert self._grant is not None
        assert self._form is not None
        return self._grant, self._form

    def _shown_id(self) -> str:
        return self._head.request_id if self._grant is None else self._grant.shown_id


def find_cut(frames: bytes) -> int:
    """Return how many bytes, of frames too many for one write, to write first: whole frames."""
    end = frames.rfind(FRAME_END, 0, MAX_WRITE_BYTES)
    return (frames.find(FRAME_END) if end < 0 else end) + len(FRAME_END)
