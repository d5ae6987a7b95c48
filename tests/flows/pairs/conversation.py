"""What the battery says and hears, in words that belong to no format."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.flows.caller import Answer, Caller, LiveCall
from tests.support.pdf import write_pdf

PNG = b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763"
        "f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
PAGE = "A page."
PDF = b64encode(write_pdf(PAGE)).decode()
TOOL = "look_up"
TOOL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
Body = dict[str, Any]


@dataclass(frozen=True)
class User:
    text: str
    has_image: bool = False
    has_document: bool = False


@dataclass(frozen=True)
class Result:
    """What a tool has returned."""

    call_id: str
    text: str


@dataclass(frozen=True)
class Own:
    """A turn of the model, given back as the format had it."""

    turn: list[Body]


Turn = User | Result | Own


@dataclass(frozen=True)
class Wishes:
    """What a call asks for beside its turns."""

    stream: bool = False
    system: str = ""
    has_tools: bool = False
    # "forced" names the tool.
    tool_choice: str = ""
    # Of the answer; empty for none.
    schema: Body = field(default_factory=dict)
    thinks: bool = False
    max_tokens: int = 4_000
    stop: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: Body


@dataclass(frozen=True)
class Said:
    """An answer that was understood."""

    text: str
    finish: str
    # All tokens of the prompt, those from the cache among them.
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: list[Call] = field(default_factory=list)
    reasoning: str = ""
    # The turn as this format gives it back.
    turn: list[Body] = field(default_factory=list)


class Format(Protocol):
    """A format that callers speak."""

    name: str
    takes_stop: bool

    def begin(self, caller: Caller, turns: list[Turn], wishes: Wishes) -> LiveCall:
        """Send a call."""

    def read(self, answer: Answer) -> Said:
        """Understand an answer of status 200, by the types of the format's SDK."""

    def is_broken(self, answer: Answer) -> bool:
        """True for a stream that ended with an error, as the format's SDK sees one."""

    def code_of(self, answer: Answer) -> str:
        """Return our code of an error."""
