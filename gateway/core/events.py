"""The answer in our words: what every provider's dialect is decoded to.

The members of a delta or a message are OpenAI's, plus `reasoning`; they are plain JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.core.money import Usage

Members = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of one choice's message."""

    index: int
    members: Members
    logprobs: Any = None


@dataclass(frozen=True, slots=True)
class Finish:
    """One choice is complete."""

    index: int
    reason: str
    logprobs: Any = None


@dataclass(frozen=True, slots=True)
class Reported:
    """The provider's token counts, or its own fields such as system_fingerprint."""

    usage: Usage | None
    extras: Members = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """The provider says that nothing follows."""


StreamEvent = Delta | Finish | Reported | Ended


@dataclass(frozen=True, slots=True)
class Choice:
    """One complete choice of a buffered answer."""

    index: int
    message: Members
    finish_reason: str
    logprobs: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete buffered answer. usage is None when the provider gave none that makes sense."""

    choices: tuple[Choice, ...]
    usage: Usage | None
    extras: Members = field(default_factory=dict)
