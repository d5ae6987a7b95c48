"""An exchange whose answer goes through the steps of processors."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.core.answer_steps import AnswerStep, StreamFilter, needs_answer
from gateway.core.errors import UpstreamError
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    TakeEvents,
    UsageReported,
)
from gateway.streaming.relay import Exchange, Stream

# A whole answer is given to a streaming caller in pieces of so many characters.
PIECE_CHARS = 200


class ProcessedExchange:
    """Another exchange, its answer changed by steps in their order."""

    def __init__(self, exchange: Exchange, steps: Sequence[AnswerStep]) -> None:
        self._exchange = exchange
        self._steps = steps

    @property
    def was_sent(self) -> bool:
        return self._exchange.was_sent

    async def read(self) -> Answer:
        answer = await self._exchange.read()
        for step in self._steps:
            answer = await step.change(answer)
        return answer

    async def open_stream(self) -> Stream:
        if needs_answer(self._steps):
            return ReplayedStream(await self.read())
        stream = await self._exchange.open_stream()
        return FilteredStream(stream, [step.open_filter() for step in self._steps])


class FilteredStream:
    """A stream whose events go through filters where they arrive."""

    def __init__(self, stream: Stream, filters: Sequence[StreamFilter]) -> None:
        self.omits_finish_reason = stream.omits_finish_reason
        self._stream = stream
        self._filters = filters

    async def forward(self, take: TakeEvents) -> bool:
        def pass_on(events: list[StreamEvent], failure: UpstreamError | None) -> bool:
            return take(self._filter(events), failure)

        has_more = await self._stream.forward(pass_on)
        if not has_more:
            take(self._finish(), None)
        return has_more

    def _filter(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Return the events as the filters make them: what they hold back goes before the end."""
        is_over = any(isinstance(event, StreamEnd) for event in events)
        events = [event for event in events if not isinstance(event, StreamEnd)]
        for one in self._filters:
            events = one.feed(events)
        return [*events, *self._finish(), StreamEnd()] if is_over else events

    def _finish(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for one in self._filters:
            events = [*one.feed(events), *one.finish()]
        return events

    async def close(self, *, is_over: bool) -> None:
        await self._stream.close(is_over=is_over)


class ReplayedStream:
    """A whole answer as a stream: content in pieces, then finishes and usage."""

    omits_finish_reason = False

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def forward(self, take: TakeEvents) -> bool:
        answer = self._answer
        assert isinstance(answer, ChatAnswer)
        events: list[StreamEvent] = [UsageReported(answer.usage, answer.extras)]
        for choice in answer.choices:
            events += _events_of(choice)
        # The relay stops at the end, and writes what does not fit before it reads on.
        return take([*events, StreamEnd()], None)

    async def close(self, *, is_over: bool) -> None:
        """Nothing is open."""


def _events_of(choice: Choice) -> list[StreamEvent]:
    """Return a choice as a stream would have it."""
    fields = {name: value for name, value in choice.message.items() if name != "role"}
    content = fields.pop("content", None)
    events: list[StreamEvent] = []
    if isinstance(fields.get("reasoning"), str):
        events.append(Delta(choice.index, {"reasoning": fields.pop("reasoning")}))
    if isinstance(content, str):
        for start in range(0, len(content), PIECE_CHARS):
            piece = content[start : start + PIECE_CHARS]
            events.append(Delta(choice.index, {"content": piece}))
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields["tool_calls"] = [{**call, "index": n} for n, call in enumerate(calls)]
    if fields:
        events.append(Delta(choice.index, fields))
    events.append(Finish(choice.index, choice.finish_reason, choice.logprobs, choice.native))
    return events
