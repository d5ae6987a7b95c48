"""What the fake upstream reads of a chat-completions request, and the HTTP request around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.fakes.schema_answer import json_answer
from tests.fakes.script import Script, ScriptError, read_script


class Message(msgspec.Struct):
    role: str = ""
    content: Any = None


class Chat(msgspec.Struct):
    """The body. Members that do not matter here are not looked at."""

    model: str = ""
    messages: list[Message] = []
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = 1
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = False
    top_logprobs: int | None = None
    guided_regex: str | None = None
    structured_outputs: dict[str, Any] | None = None

    @property
    def limit_tokens(self) -> int | None:
        limits = [n for n in (self.max_tokens, self.max_completion_tokens) if n is not None]
        return min(limits, default=None)

    @property
    def may_call(self) -> bool:
        return not (isinstance(self.tool_choice, str) and self.tool_choice == "none")

    @property
    def forced_tool(self) -> dict[str, Any] | None:
        """Return the function that the model has to call, None where it has a choice."""
        choice = self.tool_choice
        functions = [tool["function"] for tool in self.tools or () if "function" in tool]
        if choice in ("required", "any"):
            return functions[0] if functions else None
        if not isinstance(choice, dict):
            return None
        wanted = choice.get("function", {}).get("name")
        return next((each for each in functions if each["name"] == wanted), None)

    @property
    def tool_turns(self) -> int:
        """Return how many times the model has got results of tools since the user spoke."""
        turns, role = 0, ""
        for message in self.messages:
            if message.role == "user":
                turns = 0
            turns += message.role == "tool" and role != "tool"
            role = message.role
        return turns

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.get("include_usage"))

    @property
    def is_plain(self) -> bool:
        """True when nothing in the body asks for more than tokens."""
        return not (self.tools or self.response_format or self.logprobs) and self.n in (None, 1)

    def text_of(self, message: Message) -> str:
        if isinstance(message.content, str):
            return message.content
        if not isinstance(message.content, list):
            return ""
        parts = [part for part in message.content if isinstance(part, dict)]
        return " ".join(str(part.get("text", "")) for part in parts if part.get("text"))

    def count_words(self) -> int:
        """Return the prompt's length: one word, one token."""
        return sum(len(self.text_of(message).split()) for message in self.messages)

    def script(self) -> Script:
        """Return what the last user message asks for. Raises ScriptError, as for an expression
        that does not compile and for a schema that makes no sense: providers refuse those."""
        json_answer(self.response_format)
        try:
            re.compile(self.guided_regex or (self.structured_outputs or {}).get("regex") or "")
        except re.error as error:
            raise ScriptError(f"The expression does not compile: {error}.") from None
        for message in reversed(self.messages):
            if message.role == "user":
                return read_script(self.text_of(message))
        return read_script("")


@dataclass(slots=True)
class Request:
    """One HTTP request, complete."""

    method: str = ""
    path: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    request_id: str = ""
    body: bytes = b""
    keep_alive: bool = True


read_chat = msgspec.json.Decoder(Chat).decode
