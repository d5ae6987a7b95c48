"""A provider's answer to the caller, counted on the way.

Nothing is read from the provider while the caller's connection is full: the write waits, and
with it the read, all the way back to the provider's socket.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from gateway.core.errors import CallerLeft, StreamBroken, UpstreamError
from gateway.core.events import Answer, Delta, Fields, Finish, StreamEnd, StreamEvent, UsageReported
from gateway.core.receipt import Receipt
from gateway.streaming.call_supervisor import LiveCall
from gateway.streaming.meter import MAX_CHARS_OF_ONE_TOKEN, Meter

# A provider that ignores the output limit is cut here; some send a token in two pieces, others
# several tokens in one, which are told by their length alone.
OVERRUN = 1.25
OVERRUN_TOKENS = 16
NOTHING_MORE = b""
# A provider may send comments, empty pieces and the like, but so many bytes of them and no more:
# beyond what comes with each piece of output, and what is passed on of it.
MAX_IDLE_BYTES = 2 * 1024 * 1024
BYTES_PER_DELTA = 4096
# So many lines of them at once and so many a second: a line costs the loop time however short.
MAX_IDLE_LINES = 4_000
IDLE_LINES_PER_S = 1_000


class Close(Protocol):
    """Settles a call that came to its end. answer: what is still to be written of a buffered one,
    nothing of it has been yet."""

    def __call__(self, answer: Answer | None = None) -> Awaitable[Receipt]: ...


class Cut(NamedTuple):
    """How much output is more than the hold can be meant to cover."""

    deltas: int
    chars: int

    @classmethod
    def at(cls, limit_tokens: int) -> Cut:
        deltas = int(limit_tokens * OVERRUN) + OVERRUN_TOKENS
        return cls(deltas, deltas * MAX_CHARS_OF_ONE_TOKEN)

    def is_reached(self, meter: Meter) -> bool:
        return meter.deltas > self.deltas or meter.chars > self.chars


class Exchange(Protocol):
    """One attempt, as the relay needs it (gateway.providers.exchange)."""

    async def read(self) -> Answer: ...

    async def open_stream(self) -> Stream: ...


class Stream(Protocol):
    """A streamed answer, as the relay needs it (gateway.providers.exchange).

    omits_finish_reason: the provider may end it without a reason (gateway.providers.catalogue).
    """

    omits_finish_reason: bool
    forward: Callable[[Callable[[bytes], bool]], Awaitable[bool]]
    broken_by: tuple[type[Exception], ...]

    def feed(self, chunk: bytes) -> tuple[list[StreamEvent], UpstreamError | None]: ...

    async def close(self, *, is_over: bool) -> None: ...


class Caller(Protocol):
    """The caller's side, as the relay needs it (gateway.consumers)."""

    async def send_answer(self, answer: Answer, receipt: Receipt) -> None: ...

    def encode(self, event: Delta | Finish | UsageReported) -> bytes: ...

    def write_at_once(self, frames: bytes) -> bool: ...

    async def write(self, frames: bytes) -> None: ...

    async def finish(self, receipt: Receipt) -> None: ...


async def relay_answer(exchange: Exchange, caller: Caller, meter: Meter, close: Close) -> None:
    """Relay a buffered answer."""
    answer = await exchange.read()
    for choice in answer.choices:
        meter.count_delta(count_chars(choice.message))
        meter.finish(choice.index, choice.finish_reason, choice.native)
        if "tool_calls" in choice.message:
            meter.note_tool_calls(choice.index, choice.message["tool_calls"])
    meter.usage = answer.usage
    if meter.usage is None:
        for choice in answer.choices:
            meter.keep(text_of(choice.message))
    meter.end_attempt()
    await caller.send_answer(answer, await close(answer))


async def relay_stream(
    exchange: Exchange,
    caller: Caller,
    meter: Meter,
    live: LiveCall,
    close: Close,
    limit_tokens: int,
    choices: int,
) -> None:
    """Relay a streamed answer event by event.

    limit_tokens: what the hold covers, over all choices. Raises StreamBroken when the provider
    closes without a finish_reason, or without [DONE] where its kind may omit the reason;
    CallerLeft when only its usage was waited for.
    """
    cut = Cut.at(limit_tokens)
    live.asked_at, live.heard_at = time.monotonic(), 0.0
    live.meter, live.choices = meter, choices
    stream = await exchange.open_stream()
    passage = Passage(stream, caller, meter, live, cut)
    has_more = True
    try:
        while has_more and not passage.is_over:
            try:
                has_more = await stream.forward(passage.take)
            except stream.broken_by as error:
                raise broken_off(error) from error
            if not has_more:
                passage.take(NOTHING_MORE)
            await passage.catch_up()
        if cut.is_reached(meter):
            for index in range(choices):
                take(Finish(index, "length"), caller, meter)
        elif passage.is_over and choices == 1 and leaves_finish_out(stream, meter):
            take(Finish(0, "tool_calls" if meter.tool_calls else "stop"), caller, meter)
        # A provider that announces no end has to say of every choice that it is complete.
        elif not meter.finished or (not passage.is_over and len(meter.finished) < choices):
            raise StreamBroken("The provider's stream ended early.")
        if live.caller_left:
            raise CallerLeft
        meter.end_attempt()
        receipt = await close()
        meter.has_answered = True
        await caller.finish(receipt)
    finally:
        await stream.close(is_over=passage.is_over and not cut.is_reached(meter))


def leaves_finish_out(stream: Stream, meter: Meter) -> bool:
    """True when no finish_reason came with the output, and the kind of provider sends none."""
    return stream.omits_finish_reason and meter.deltas > 0 and not meter.finished


class Passage:
    """What becomes of each piece of a stream, the moment it arrives.

    A piece whose frames the caller's connection takes at once is done with in `take`, without
    anybody being woken; any other is kept for catch_up, and no more is taken until then.
    """

    __slots__ = (
        "_caller",
        "_cut",
        "_deltas",
        "_failure",
        "_frames",
        "_idle_at",
        "_idle_bytes",
        "_idle_lines",
        "_live",
        "_meter",
        "_stream",
        "_weighed_deltas",
        "is_over",
    )

    def __init__(
        self, stream: Stream, caller: Caller, meter: Meter, live: LiveCall, cut: Cut
    ) -> None:
        self.is_over = False
        self._stream = stream
        self._caller = caller
        self._meter = meter
        self._live = live
        self._cut = cut
        self._frames = b""
        self._failure: UpstreamError | None = None
        self._deltas = self._weighed_deltas = meter.deltas
        self._idle_bytes = 0
        self._idle_lines = self._idle_at = 0.0

    def take(self, piece: bytes) -> bool:
        """Count a piece and pass it on; no bytes are the end. Returns whether to go on."""
        live, meter = self._live, self._meter
        live.heard_at = now = time.monotonic()
        events, self._failure = self._stream.feed(piece)
        frames, self.is_over = take_batch(events, self._caller, meter, self._cut)
        deltas = meter.deltas
        if deltas == self._deltas or len(piece) > BYTES_PER_DELTA:
            self._weigh(piece, len(frames), now)
        if deltas != self._deltas:
            self._deltas, live.output_at = deltas, now
        if frames:
            meter.has_answered = True
            if not self._caller.write_at_once(frames):
                self._frames = frames
                return False
        return self._failure is None and not self.is_over

    def _weigh(self, piece: bytes, frames_bytes: int, now: float) -> None:
        """Give up a provider that goes on sending, and next to no output. now: in seconds."""
        deltas = self._meter.deltas - self._weighed_deltas
        self._weighed_deltas = self._meter.deltas
        worth_bytes = deltas * BYTES_PER_DELTA + 2 * frames_bytes if deltas else 0
        self._idle_bytes = max(self._idle_bytes + len(piece) - worth_bytes, 0)
        self._count_idle_lines(0 if deltas else piece.count(b"\n"), now)
        if self._failure is not None:
            return
        if self._idle_bytes > MAX_IDLE_BYTES:
            size = f"{MAX_IDLE_BYTES // 2**20} MB"
            self._failure = StreamBroken(f"The provider sent more than {size} without output.")
        elif self._idle_lines > MAX_IDLE_LINES:
            self._failure = StreamBroken(
                f"The provider sent more than {MAX_IDLE_LINES} lines without output."
            )

    def _count_idle_lines(self, lines: int, now: float) -> None:
        """Count lines without output; output forgets them all, and time some of them."""
        idle_s, self._idle_at = now - self._idle_at, now
        if lines:
            spent = idle_s * IDLE_LINES_PER_S
            self._idle_lines = max(self._idle_lines - spent, 0.0) + lines
        else:
            self._idle_lines = 0.0

    async def catch_up(self) -> None:
        """Write what has to wait for the caller. Raises what the provider reported behind it."""
        frames, self._frames = self._frames, b""
        if frames:
            await self._caller.write(frames)
        if self._failure is not None:
            raise self._failure


def broken_off(error: Exception) -> StreamBroken:
    return StreamBroken("The provider's response ended early.", detail=repr(error))


def take_batch(
    batch: list[StreamEvent], caller: Caller, meter: Meter, cut: Cut
) -> tuple[bytes, bool]:
    """Return the frames that these events amount to, and whether the stream is over with them.

    What comes after the announced end, or beyond the hold, is not taken.
    """
    frames = b""
    for event in batch:
        if isinstance(event, Delta):
            fields = event.fields
            content = fields.get("content")
            if len(fields) == 1 and isinstance(content, str):  # as most pieces are
                meter.count_delta(len(content))
                if meter.keeps:
                    meter.keep(content)
            else:
                count_rich_delta(event, meter)
            frames += caller.encode(event)
            if meter.deltas > cut.deltas or meter.chars > cut.chars:
                return frames, True
        elif isinstance(event, StreamEnd):
            return frames, True
        else:
            frames += take(event, caller, meter)
    return frames, False


def count_rich_delta(event: Delta, meter: Meter) -> None:
    """Count a piece with more in it than plain text."""
    fields = event.fields
    meter.count_delta(count_chars(fields))
    if meter.keeps:
        meter.keep(text_of(fields))
    if "tool_calls" in fields:
        meter.note_tool_calls(event.index, fields["tool_calls"])


def take(event: Finish | UsageReported, caller: Caller, meter: Meter) -> bytes:
    """Note what a choice or the whole came to, and return the frames it amounts to."""
    if isinstance(event, Finish):
        meter.finish(event.index, event.reason, event.native)
    elif event.usage is not None:
        meter.usage = event.usage
    return caller.encode(event)


def count_chars(fields: Fields) -> int:
    """Return the characters of output in a delta or a message; any output counts at least 1."""
    chars = 0
    for name, value in fields.items():
        if isinstance(value, str):
            chars += len(value) if name != "role" else 0
        elif name == "tool_calls" and isinstance(value, list):
            chars += sum(_tool_chars(call) for call in value)
        elif value:
            chars += 1
    return chars


def _tool_chars(call: Any) -> int:
    return max(sum(map(len, _texts_of_tool(call))), 1)


def _texts_of_tool(call: Any) -> list[str]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return []
    said = (function.get("name"), function.get("arguments"))
    return [text for text in said if isinstance(text, str)]


def text_of(fields: Fields) -> str:
    """Return the text of output in a delta or a message: what was said, thought and called."""
    parts: list[str] = []
    for name, value in fields.items():
        if isinstance(value, str):
            parts += [value] if name != "role" else []
        elif name == "tool_calls" and isinstance(value, list):
            parts += [text for call in value for text in _texts_of_tool(call)]
    return "".join(parts)
