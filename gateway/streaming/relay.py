"""A provider's answer to the caller, counted on the way.

Nothing is read from the provider while the caller's connection is full: the write waits, and
with it the read, all the way back to the provider's socket.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import NamedTuple, Protocol

from gateway.core.errors import CallerLeft, StreamBroken, UpstreamError
from gateway.core.events import (
    Answer,
    AudioPiece,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    TakeEvents,
    ToolEvent,
    UsageReported,
    WrittenEvent,
)
from gateway.core.output import count_chars, text_of
from gateway.core.receipt import Receipt
from gateway.streaming.live_call import LiveCall
from gateway.streaming.meter import MAX_CHARS_OF_ONE_TOKEN, Meter

# A provider that ignores the output limit is cut here; some send a token in two pieces, others
# several tokens in one, which are told by their length alone.
OVERRUN = 1.25
OVERRUN_TOKENS = 16


class Close(Protocol):
    """Settles a call that came to its end. answer: what is still to be written of a buffered one,
    nothing of it has been yet."""

    def __call__(self, answer: Answer | None = None) -> Awaitable[Receipt]: ...


class OutputCap(NamedTuple):
    """How much output is more than the hold can be meant to cover."""

    deltas: int
    chars: int

    @classmethod
    def at(cls, limit_tokens: int) -> OutputCap:
        deltas = int(limit_tokens * OVERRUN) + OVERRUN_TOKENS
        return cls(deltas, deltas * MAX_CHARS_OF_ONE_TOKEN)

    def is_reached(self, meter: Meter) -> bool:
        return meter.deltas > self.deltas or meter.chars > self.chars


class Exchange(Protocol):
    """One attempt to answer a call. What it gives are events, never bytes.

    gateway.providers.exchange asks one provider; others wrap such exchanges: to change what they
    give, or to open several and add up their usage.
    """

    @property
    def was_sent(self) -> bool:
        """True when a provider has the request and has not refused it."""

    async def read(self) -> Answer:
        """Return the whole answer. Raises UpstreamError."""

    async def open_stream(self) -> Stream:
        """Return the answer as a stream, its head read. Raises UpstreamError."""


class Stream(Protocol):
    """A streamed answer. Whoever has it must close it."""

    # The provider may end it without a finish_reason (gateway.providers.catalogue).
    omits_finish_reason: bool

    async def forward(self, take: TakeEvents) -> bool:
        """Hand over the events of each piece the moment it arrives, and what went wrong after
        them, until `take` returns False. Return whether it did: else this is the end, and `take`
        has got the events that were left.

        Raises StreamBroken when the answer breaks off.
        """

    async def close(self, *, is_over: bool) -> None:
        """is_over: the answer was taken to its end, so the connection may be kept."""


class Caller(Protocol):
    """The caller's side, as the relay needs it (gateway.caller.connection)."""

    async def send_answer(self, answer: Answer, receipt: Receipt) -> None: ...

    def encode(self, event: WrittenEvent) -> bytes: ...

    def write_at_once(self, frames: bytes) -> bool: ...

    async def write(self, frames: bytes) -> None: ...

    async def finish(self, receipt: Receipt) -> None: ...


async def relay_answer(exchange: Exchange, caller: Caller, meter: Meter, close: Close) -> None:
    """Relay a buffered answer."""
    answer = await exchange.read()
    answer.note(meter)
    meter.usage = answer.usage
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
    cap = OutputCap.at(limit_tokens)
    live.asked_at, live.heard_at = time.monotonic(), 0.0
    live.meter, live.choices = meter, choices
    stream = await exchange.open_stream()
    relay = StreamRelay(caller, meter, live, cap)
    has_more = True
    try:
        while has_more and not relay.is_over:
            has_more = await stream.forward(relay.take)
            await relay.catch_up()
        if cap.is_reached(meter):
            for index in range(choices):
                take(Finish(index, "length"), caller, meter)
        elif relay.is_over and choices == 1 and leaves_finish_out(stream, meter):
            take(Finish(0, "tool_calls" if meter.tool_calls else "stop"), caller, meter)
        # A provider that announces no end has to say of every choice that it is complete.
        elif not meter.finished or (not relay.is_over and len(meter.finished) < choices):
            raise StreamBroken("The provider's stream ended early.")
        if live.caller_left:
            raise CallerLeft
        meter.end_attempt()
        receipt = await close()
        meter.has_answered = True
        await caller.finish(receipt)
    finally:
        await stream.close(is_over=relay.is_over and not cap.is_reached(meter))


def leaves_finish_out(stream: Stream, meter: Meter) -> bool:
    """True when no finish_reason came with the output, and the kind of provider sends none."""
    return stream.omits_finish_reason and meter.deltas > 0 and not meter.finished


class StreamRelay:
    """What becomes of each piece of a stream, the moment it arrives.

    A piece whose frames the caller's connection takes at once is done with in `take`, without
    anybody being woken; any other is kept for catch_up, and no more is taken until then.
    """

    __slots__ = ("_caller", "_cap", "_deltas", "_failure", "_frames", "_live", "_meter", "is_over")

    def __init__(self, caller: Caller, meter: Meter, live: LiveCall, cap: OutputCap) -> None:
        self.is_over = False
        self._caller = caller
        self._meter = meter
        self._live = live
        self._cap = cap
        self._frames = b""
        self._failure: UpstreamError | None = None
        self._deltas = meter.deltas

    def take(self, events: list[StreamEvent], failure: UpstreamError | None) -> bool:
        """Count a piece's events and pass them on. Returns whether to go on."""
        live, meter = self._live, self._meter
        live.heard_at = now = time.monotonic()
        self._failure = failure
        frames, self.is_over = take_batch(events, self._caller, meter, self._cap)
        if meter.deltas != self._deltas:
            self._deltas, live.output_at = meter.deltas, now
        if frames:
            meter.has_answered = True
            if not self._caller.write_at_once(frames):
                self._frames = frames
                return False
        return failure is None and not self.is_over

    async def catch_up(self) -> None:
        """Write what has to wait for the caller. Raises what the provider reported behind it."""
        frames, self._frames = self._frames, b""
        if frames:
            await self._caller.write(frames)
        if self._failure is not None:
            raise self._failure


def take_batch(
    batch: list[StreamEvent], caller: Caller, meter: Meter, cap: OutputCap
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
            if meter.deltas > cap.deltas or meter.chars > cap.chars:
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


def take(
    event: AudioPiece | Finish | UsageReported | ToolEvent, caller: Caller, meter: Meter
) -> bytes:
    """Note what is no text, or what a choice or the whole came to, and return the frames it amounts
    to."""
    if isinstance(event, AudioPiece):
        meter.count_sound(len(event.data))
    elif isinstance(event, Finish):
        meter.finish(event.index, event.reason, event.native)
    elif isinstance(event, ToolEvent):
        pass  # who ran it has noted it on the meter
    elif event.usage is not None:
        meter.usage = event.usage
    elif event.so_far is not None:
        meter.usage_so_far = event.so_far
    return caller.encode(event)
