"""What the programs of the matrix share: what they are told, and the notes they take.

Each program is a module with PACKAGE, the package whose version it tells, and CELLS: for each cell
of the matrix a function that makes the calls and writes down what the client saw. The programs
judge nothing, tests/clients/test_matrix.py does. They run in environments of their own, so that
nothing but the standard library may be imported here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MODEL = "fake-model"
KEY = os.environ.get("KEY", "")
PICTURE = os.environ.get("PICTURE", "")  # a data: URL
PROMPTS: Mapping[str, str] = json.loads(os.environ.get("PROMPTS", "{}"))
CITY_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Look up the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
WEATHER = "21 degrees"
Message = dict[str, Any]


@dataclass
class Seen:
    """What a client saw. usage: prompt and completion tokens. calls: the name and the arguments
    of each tool that was called. raised: the name of the error that the client raised."""

    text: str = ""
    finish: str | None = None
    usage: list[int] | None = None
    calls: list[list[Any]] = field(default_factory=list)
    raised: str | None = None
    code: Any = None

    def count(self, usage: Mapping[str, Any] | None) -> None:
        """Note the usage of an answer or a chunk, if it has any."""
        if usage:
            self.usage = [usage["prompt_tokens"], usage["completion_tokens"]]

    @contextmanager
    def failure(self) -> Iterator[None]:
        """Note what the block raises."""
        try:
            yield
        except Exception as error:
            self.raised = type(error).__name__
            codes = (getattr(told, "code", None) for told in (error, error.__cause__))
            self.code = self.code or next(filter(None, codes), None)


Cells = Mapping[str, Callable[[Seen], Any]]


def base_url() -> str:
    """Return the address of the gateway, under one profile after the other."""
    return os.environ["BASE_URL"]


def user(content: str | list[Any]) -> list[Message]:
    """Return the messages of a conversation that begins with this."""
    return [{"role": "user", "content": content}]


def with_picture() -> list[Message]:
    """Return a conversation that begins with a picture."""
    return user(
        [
            {"type": "text", "text": PROMPTS["echo"]},
            {"type": "image_url", "image_url": {"url": PICTURE}},
        ]
    )


class ToolCalls:
    """The tool calls of a message, put together from the pieces of a stream or whole."""

    def __init__(self) -> None:
        self._calls: dict[int, Message] = {}

    def join(self, pieces: Sequence[Message] | None) -> None:
        for position, piece in enumerate(pieces or ()):
            function = piece["function"]
            call = self._calls.setdefault(
                piece.get("index", position),
                {
                    "id": piece.get("id"),
                    "type": "function",
                    "function": {"name": function.get("name"), "arguments": ""},
                },
            )
            call["function"]["arguments"] += function.get("arguments") or ""

    def named(self) -> list[list[Any]]:
        """Return the name and the arguments of each."""
        functions = [call["function"] for call in self._calls.values()]
        return [[f["name"], json.loads(f["arguments"])] for f in functions]

    def answered(self, prompt: str) -> list[Message]:
        """Return the conversation after the tools have said what they know."""
        calls = list(self._calls.values())
        told = [{"role": "tool", "tool_call_id": c["id"], "content": WEATHER} for c in calls]
        return [*user(prompt), {"role": "assistant", "content": None, "tool_calls": calls}, *told]
