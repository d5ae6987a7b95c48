"""An exchange whose answer goes through the steps of processors.

It fails closed: where a step fails, nothing of the answer goes on.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TypeVar

from gateway.core.answer_steps import AnswerStep, Needs, StreamFilter, needs_answer
from gateway.core.errors import GatewayError, UpstreamError
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
from gateway.core.processing import Processing
from gateway.core.processor_errors import ProcessorFailure
from gateway.core.reasoning import FIELD
from gateway.streaming.relay import Exchange, Stream

logger = logging.getLogger(__name__)

# A whole answer is given to a streaming caller in pieces of so many characters.
PIECE_CHARS = 200
REASONING = ("reasoning", FIELD)


T = TypeVar("T")


class TimedStep:
    """A step of a processor, whose time is noted and whose faults refuse the call."""

    def __init__(self, step: AnswerStep, name: str, processing: Processing) -> None:
        self.needs: Needs = step.needs
        self._step = step
        self._name = name
        self._processing = processing

    async def change(self, answer: Answer) -> Answer:
        """Return the whole answer as the caller gets it. Raises GatewayError."""
        began_ns = perf_counter_ns()
        try:
            return await self._step.change(answer)
        except Exception as error:
            raise self._failure(error) from None
        finally:
            self._processing.add_answer_time(self._name, perf_counter_ns() - began_ns)

    def open_filter(self) -> TimedFilter:
        """Return a filter for one stream."""
        return TimedFilter(self, self._timed(self._step.open_filter))

    def feed(self, one: StreamFilter, events: list[StreamEvent]) -> list[StreamEvent]:
        return self._timed(lambda: one.feed(events))

    def finish(self, one: StreamFilter) -> list[StreamEvent]:
        return self._timed(one.finish)

    def _timed(self, work: Callable[[], T]) -> T:
        """Return what the work comes to. Raises GatewayError."""
        began_ns = perf_counter_ns()
        try:
            return work()
        except Exception as error:
            raise self._failure(error) from None
        finally:
            self._processing.add_answer_time(self._name, perf_counter_ns() - began_ns)

    def _failure(self, error: Exception) -> GatewayError:
        if isinstance(error, GatewayError):
            return error
        # Its text may have a part of the answer in it.
        logger.error("The processor %s failed: %s", self._name, type(error).__name__)
        return ProcessorFailure(f"The processor {self._name} failed.")


class TimedFilter:
    """A StreamFilter of a TimedStep."""

    def __init__(self, step: TimedStep, one: StreamFilter) -> None:
        self._step = step
        self._one = one

    def feed(self, events: list[StreamEvent]) -> list[StreamEvent]:
        return self._step.feed(self._one, events)

    def finish(self) -> list[StreamEvent]:
        return self._step.finish(self._one)


class ProcessedExchange:
    """Another exchange, its answer changed by steps in their order."""

    def __init__(
        self, exchange: Exchange, steps: Sequence[AnswerStep], processing: Processing
    ) -> None:
        self._exchange = exchange
        self._steps = steps
        self._processing = processing

    @property
    def was_sent(self) -> bool:
        return self._exchange.was_sent

    async def read(self) -> Answer:
        given = answer = await self._exchange.read()
        try:
            for step in self._steps:
                answer = await step.change(answer)
        except GatewayError:
            self._processing.lost_answer = given
            raise
        return answer

    async def open_stream(self) -> Stream:
        if needs_answer(self._steps):
            # A value that was put back is stored as what stood for it: it has to stay whole.
            answer = await self.read()
            piece_chars = sys.maxsize if self._processing.taken_out else PIECE_CHARS
            return ReplayedStream(answer, piece_chars)
        filters = [step.open_filter() for step in self._steps]
        return FilteredStream(await self._exchange.open_stream(), filters)


class FilteredStream:
    """A stream whose events go through filters where they arrive."""

    def __init__(self, stream: Stream, filters: Sequence[StreamFilter]) -> None:
        self.omits_finish_reason = stream.omits_finish_reason
        self._stream = stream
        self._filters = filters

    async def forward(self, take: TakeEvents) -> bool:
        """As gateway.streaming.relay.Stream. Raises what a filter raises."""
        failed: list[GatewayError] = []

        def pass_on(events: list[StreamEvent], failure: UpstreamError | None) -> bool:
            try:
                filtered = self._filter(events)
            except GatewayError as error:
                failed.append(error)
                return False
            return take(filtered, failure)

        has_more = await self._stream.forward(pass_on)
        if failed:
            raise failed.pop()
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

    def __init__(self, answer: Answer, piece_chars: int = PIECE_CHARS) -> None:
        self._answer = answer
        self._piece_chars = piece_chars

    async def forward(self, take: TakeEvents) -> bool:
        answer = self._answer
        assert isinstance(answer, ChatAnswer)
        events: list[StreamEvent] = [UsageReported(answer.usage, answer.extras)]
        for choice in answer.choices:
            events += _events_of(choice, self._piece_chars)
        # The relay stops at the end, and writes what does not fit before it reads on.
        return take([*events, StreamEnd()], None)

    async def close(self, *, is_over: bool) -> None:
        """Nothing is open."""


def _events_of(choice: Choice, piece_chars: int) -> list[StreamEvent]:
    """Return a choice as a stream would have it."""
    fields = {name: value for name, value in choice.message.items() if name != "role"}
    content = fields.pop("content", None)
    events: list[StreamEvent] = []
    thought = {name: fields.pop(name) for name in REASONING if name in fields}
    if thought:
        events.append(Delta(choice.index, thought))
    if isinstance(content, str):
        for start in range(0, len(content), piece_chars):
            piece = content[start : start + piece_chars]
            events.append(Delta(choice.index, {"content": piece}))
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields["tool_calls"] = [{**call, "index": n} for n, call in enumerate(calls)]
    if fields:
        events.append(Delta(choice.index, fields))
    events.append(Finish(choice.index, choice.finish_reason, choice.logprobs, choice.native))
    return events
