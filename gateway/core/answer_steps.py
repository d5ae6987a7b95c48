"""Steps on the answer of a call: what processors leave to be done (gateway.processors)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from gateway.core.events import Answer, StreamEvent

# What a step on an answer works on: events as they come, or nothing but the whole.
Needs = Literal["stream", "answer"]


class StreamFilter(Protocol):
    """Changes the events of one stream. Synchronous, and done in well under a millisecond: it runs
    where a piece of the stream arrives (docs/adr/0028)."""

    def feed(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Return what to pass on now; what is held back is returned later."""

    def finish(self) -> list[StreamEvent]:
        """Return what is still held back at the end of the stream."""


class AnswerStep(Protocol):
    """What a processor does with one call's answer. It has what it knows of the request.

    With `needs` "stream" streams go through `open_filter`; with "answer" the provider is asked for
    a whole answer, and a streaming caller gets the changed one as a stream.
    """

    needs: Needs

    def open_filter(self) -> StreamFilter:
        """Return a filter for one stream."""

    async def change(self, answer: Answer) -> Answer:
        """Return the whole answer as the caller gets it. Raises GatewayError."""


def needs_answer(steps: Sequence[AnswerStep]) -> bool:
    """True when a step needs the whole answer: the provider is then asked for no stream."""
    return any(step.needs == "answer" for step in steps)
