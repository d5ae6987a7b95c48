"""The answer in our words: what every provider's dialect is decoded to.

The fields of a delta or a message are OpenAI's, plus `reasoning`; they are plain JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.core.money import Usage

Fields = Mapping[str, Any]
FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})


class Delta(msgspec.Struct, frozen=True):
    """A piece of one choice's message."""

    index: int
    fields: Fields
    logprobs: Any = None


class Finish(msgspec.Struct, frozen=True):
    """One choice is complete. native: the reason in the provider's own word."""

    index: int
    reason: str
    logprobs: Any = None
    native: str = ""


class UsageReported(msgspec.Struct, frozen=True):
    """The provider's token counts, or its own fields such as system_fingerprint."""

    usage: Usage | None
    extras: Fields = msgspec.field(default_factory=dict)


class StreamEnd(msgspec.Struct, frozen=True):
    """The provider says that nothing follows."""


StreamEvent = Delta | Finish | UsageReported | StreamEnd


class Choice(msgspec.Struct, frozen=True):
    """One complete choice of a buffered answer. native: the reason in the provider's own word."""

    index: int
    message: Fields
    finish_reason: str
    logprobs: Any = None
    native: str = ""


class Answer(msgspec.Struct, frozen=True):
    """A complete buffered answer. usage is None when the provider gave none that makes sense."""

    choices: tuple[Choice, ...]
    usage: Usage | None
    extras: Fields = msgspec.field(default_factory=dict)

    def forget(self) -> None:
        """Let go of what was generated, once it is written: it may be long, and whoever wrote it
        has to wait for the database."""
        for choice in self.choices:
            if isinstance(choice.message, dict):
                choice.message.clear()
