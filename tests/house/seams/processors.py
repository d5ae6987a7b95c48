"""Two processors: one follows a stream, one needs the whole answer."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gateway.core.answer_steps import StreamFilter
from gateway.core.chat import ChatCall
from gateway.core.events import Answer, ChatAnswer, Delta, StreamEvent
from gateway.core.processing import ProcessorReport
from gateway.processors.base import Options, Processed, Processor, ProcessorContext


class UpperOptions(Struct, forbid_unknown_fields=True):
    word: str | None = None


class Upper(Processor):
    """Hides a word from the model, "secret" or another one, and answers in capitals."""

    name = "upper"
    scope = "completions"
    description = "Hides a word and answers in capitals."
    options = UpperOptions

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        word = str(options.get("word") or "secret").encode()
        messages = bytes(call.payload.fields["messages"]).replace(word, b"hidden")
        fields = {**call.payload.fields, "messages": messages}
        report = ProcessorReport("applied", {"language": context.language or ""})
        return Processed(call.with_payload(fields=fields), UpperStep(), report)


class UpperStep:
    """An AnswerStep (gateway.core.answer_steps)."""

    needs: Literal["stream", "answer"] = "stream"

    def open_filter(self) -> StreamFilter:
        return UpperFilter()

    async def change(self, answer: Answer) -> Answer:
        return change_text(answer, str.upper)


class UpperFilter:
    """Holds the newest piece back until the next."""

    def __init__(self) -> None:
        self._held: list[StreamEvent] = []

    def feed(self, events: list[StreamEvent]) -> list[StreamEvent]:
        ready: list[StreamEvent] = []
        for event in events:
            if isinstance(event, Delta) and "content" in event.fields:
                ready += self._held
                text = event.fields["content"].upper()
                self._held = [replace(event, fields={"content": text})]
            else:
                ready += [*self._held, event]
                self._held = []
        return ready

    def finish(self) -> list[StreamEvent]:
        held, self._held = self._held, []
        return held


class Backwards(Processor):
    """Answers from the end."""

    name = "backwards"
    scope = "pii"
    description = "Answers from the end."

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        return Processed(call, BackwardsStep(), ProcessorReport("applied"))


class BackwardsStep:
    """An AnswerStep that needs the whole answer."""

    needs: Literal["stream", "answer"] = "answer"

    def open_filter(self) -> StreamFilter:
        raise AssertionError("No stream is filtered.")

    async def change(self, answer: Answer) -> Answer:
        return change_text(answer, lambda text: text[::-1])


def change_text(answer: Answer, change: object) -> Answer:
    assert isinstance(answer, ChatAnswer)
    assert callable(change)
    [choice] = answer.choices
    message = {**choice.message, "content": change(choice.message["content"])}
    return replace(answer, choices=(replace(choice, message=message),))
