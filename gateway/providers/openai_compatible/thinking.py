"""Reasoning that comes in <think> tags at the beginning of the text, as a field of its own.

Perplexity's and MiniMax's reasoning models answer so:
https://docs.perplexity.ai/guides/structured-outputs
https://platform.minimax.io/docs/api-reference/text-openai-api
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.core.events import ChatAnswer, Choice, Delta, Finish, StreamEnd, StreamEvent
from gateway.core.json_types import JsonValue
from gateway.providers.openai_compatible.answers import OpenAIDecoder
from gateway.providers.openai_compatible.messages import THINK, THINK_END

_BEGINNING, _INSIDE, _ANSWER = range(3)


class ThinkSplitter:
    """The text of one choice, piece by piece."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = _BEGINNING
        # What may be a part of a tag.
        self._held = ""

    def feed(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a piece adds: (reasoning or content, the text)."""
        text, self._held = self._held + text, ""
        if self._state == _BEGINNING:
            shown = text.lstrip()
            if THINK.startswith(shown[: len(THINK)]) and len(shown) < len(THINK):
                self._held = text
                return
            is_thinking = shown.startswith(THINK)
            self._state = _INSIDE if is_thinking else _ANSWER
            text = shown[len(THINK) :].lstrip("\n") if is_thinking else text
        if self._state == _INSIDE:
            thought, tag, text = text.partition(THINK_END)
            if not tag:
                kept = _start_of_tag(thought)
                self._held = thought[len(thought) - kept :]
                thought, text = thought[: len(thought) - kept], ""
            if thought:
                yield "reasoning", thought
            if not tag:
                return
            self._state, text = _ANSWER, text.lstrip("\n")
        if text:
            yield "content", text

    def finish(self) -> Iterator[tuple[str, str]]:
        """Yield what was held back, as nothing follows it."""
        if self._held:
            yield ("reasoning" if self._state == _INSIDE else "content"), self._held
            self._held = ""


class ThinkingDecoder(OpenAIDecoder):
    """Chunks to events, the reasoning apart."""

    __slots__ = ("_choices",)

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, ThinkSplitter] = {}

    def read(self, data: bytes) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for event in super().read(data):
            if isinstance(event, Delta):
                events += self._split(event)
                continue
            if isinstance(event, Finish) and event.index in self._choices:
                events += _deltas(event.index, self._choices.pop(event.index).finish())
            elif isinstance(event, StreamEnd):
                for index, splitter in self._choices.items():
                    events += _deltas(index, splitter.finish())
            events.append(event)
        return events

    def _split(self, delta: Delta) -> Iterator[StreamEvent]:
        content = delta.fields.get("content")
        if not isinstance(content, str):
            yield delta
            return
        splitter = self._choices.setdefault(delta.index, ThinkSplitter())
        yield from _deltas(delta.index, splitter.feed(content))
        rest = {name: value for name, value in delta.fields.items() if name != "content"}
        if rest or delta.logprobs is not None:
            yield Delta(delta.index, rest, delta.logprobs)


def split_answer(answer: ChatAnswer) -> ChatAnswer:
    """Return a whole answer, the reasoning of each choice apart."""
    choices = tuple(_split_choice(choice) for choice in answer.choices)
    return ChatAnswer(choices, answer.usage, answer.extras)


def _split_choice(choice: Choice) -> Choice:
    content = choice.message.get("content")
    if not isinstance(content, str):
        return choice
    splitter = ThinkSplitter()
    said: dict[str, str] = {}
    for field, text in (*splitter.feed(content), *splitter.finish()):
        said[field] = said.get(field, "") + text
    if said.get("content") == content:
        return choice
    message: Mapping[str, JsonValue] = {**choice.message, "content": "", **said}
    return Choice(choice.index, message, choice.finish_reason, choice.logprobs, choice.native)


def _deltas(index: int, pieces: Iterator[tuple[str, str]]) -> list[StreamEvent]:
    return [Delta(index, {field: text}) for field, text in pieces]


def _start_of_tag(text: str) -> int:
    """Return how many characters at the end may be the beginning of the closing tag."""
    for size in range(min(len(THINK_END) - 1, len(text)), 0, -1):
        if THINK_END.startswith(text[-size:]):
            return size
    return 0
