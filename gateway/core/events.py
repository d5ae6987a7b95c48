"""Answers, whatever dialect they came in.

The fields of a delta or a message are OpenAI's, plus `reasoning` and `reasoning_details`
(gateway.core.reasoning); they are plain JSON values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import msgspec

from gateway.core.errors import UpstreamError
from gateway.core.json_types import JsonValue
from gateway.core.money import Usage
from gateway.core.output import count_chars, text_of

Fields = Mapping[str, JsonValue]
FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})


class Delta(msgspec.Struct, frozen=True):
    """A piece of one choice's message."""

    index: int
    fields: Fields
    logprobs: JsonValue = None


class Finish(msgspec.Struct, frozen=True):
    """One choice is complete. native: the reason in the provider's own word."""

    index: int
    reason: str
    logprobs: JsonValue = None
    native: str = ""


class UsageReported(msgspec.Struct, frozen=True):
    """The provider's token counts, or its own fields such as system_fingerprint."""

    usage: Usage | None
    extras: Fields = msgspec.field(default_factory=dict)
    # The counts of a stream that goes on: those of the prompt will not change.
    so_far: Usage | None = None


class AudioPiece(msgspec.Struct, frozen=True):
    """Bytes of a file of sound, in their order. Callers get them as they are."""

    data: bytes


class StreamEnd(msgspec.Struct, frozen=True):
    """The provider says that nothing follows."""


class ToolEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the gateway begins to run, or has run."""

    type: Literal["tool_start", "tool_result", "tool_error"]
    # The plugin that the tool belongs to, and its function as the model named it.
    plugin: str
    function: str
    call_id: str
    # The place of the event in the call, 1 the first.
    seq: int
    # Callers see it.
    is_shown: bool
    # Of the beginning.
    arguments: JsonValue = None
    # Of the end.
    preview: str = ""
    duration_ms: int = 0
    # What the run costs, in nano-USD.
    nusd: int = 0


StreamEvent = Delta | AudioPiece | Finish | UsageReported | ToolEvent | StreamEnd
# Those that callers may see.
WrittenEvent = Delta | AudioPiece | Finish | UsageReported | ToolEvent
# Takes the events of one piece, and what went wrong after them. Returns whether to go on.
TakeEvents = Callable[[list[StreamEvent], UpstreamError | None], bool]


class AnswerMeter(Protocol):
    """What has come of a call so far (gateway.streaming.meter)."""

    def count_delta(self, chars: int) -> None: ...

    def count_other_output(self, count: int) -> None: ...

    def keep(self, text: str) -> None: ...

    def note_tool_calls(self, choice: int, calls: object) -> None: ...

    def finish(self, choice: int, reason: str, native: str = "") -> None: ...


class Answer(Protocol):
    """A complete answer of any operation."""

    # None when the provider gave none that makes sense.
    @property
    def usage(self) -> Usage | None: ...

    def note(self, meter: AnswerMeter) -> None:
        """Count the output, and keep its text where the provider did not count."""

    def forget(self) -> None:
        """Free what was generated, once it is written: it may be long, and whoever wrote it has to
        wait for the database."""


class Choice(msgspec.Struct, frozen=True):
    """One complete choice of a buffered answer. native: the reason in the provider's own word."""

    index: int
    message: Fields
    finish_reason: str
    logprobs: JsonValue = None
    native: str = ""


class ChatAnswer(msgspec.Struct, frozen=True):
    """A complete chat completion. extras: the provider's own fields."""

    choices: tuple[Choice, ...]
    usage: Usage | None
    extras: Fields = msgspec.field(default_factory=dict)
    tool_events: tuple[ToolEvent, ...] = ()

    def note(self, meter: AnswerMeter) -> None:
        for choice in self.choices:
            meter.count_delta(count_chars(choice.message))
            meter.finish(choice.index, choice.finish_reason, choice.native)
            if "tool_calls" in choice.message:
                meter.note_tool_calls(choice.index, choice.message["tool_calls"])
            if self.usage is None:
                meter.keep(text_of(choice.message))

    def forget(self) -> None:
        for choice in self.choices:
            if isinstance(choice.message, dict):
                choice.message.clear()
