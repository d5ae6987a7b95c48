"""What was said in a call, as its page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_MESSAGES = 200
Facts = Sequence[tuple[str, str]]


@dataclass(slots=True)
class ToolCall:
    """A function that the model wants called. arguments: JSON, indented where it is whole."""

    name: str = ""
    id: str = ""
    arguments: str = ""


@dataclass(slots=True, kw_only=True)
class Message:
    """One message, or one of several inputs or results. note: what it answers, or why it ended.
    parts: what is no text, in words."""

    role: str
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.reasoning or self.refusal or self.tool_calls or self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said. facts: usage and the like as (words, value). error: what ended it. is_cut:
    what is stored stops before its end. more: how many messages are not shown."""

    messages: Sequence[Message] = ()
    facts: Facts = ()
    error: str = ""
    is_stream: bool = False
    is_cut: bool = False
    more: int = 0

    @property
    def is_readable(self) -> bool:
        return bool(self.messages or self.error)


def make_transcript(
    messages: Sequence[Message],
    facts: Facts,
    error: str = "",
    *,
    is_stream: bool = False,
    is_cut: bool = False,
) -> Transcript:
    """Return the transcript with as many of the messages as a page shows."""
    return Transcript(
        messages=messages[:MAX_MESSAGES],
        facts=facts,
        error=error,
        is_stream=is_stream,
        is_cut=is_cut,
        more=max(0, len(messages) - MAX_MESSAGES),
    )
