"""What the fake upstream says: the tokens of one answer, one step each, and how it ends."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.counting import tokens_of
from tests.fakes.schema_answer import fitting_value, json_answer
from tests.fakes.script import Script
from tests.support.texts import TEXTS

# Stands in the JSON where `big_bytes` of filler go, so that they never lie in memory at once.
BIG_MARK = "@BIG@"
PIECE_CHARS = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One token. `kind` is reasoning, content, tool (the head of a call) or args."""

    kind: str
    text: str
    tool: int = 0


class Generation:
    """The steps of one answer, made when they are asked for; then `finish` is known."""

    def __init__(self, chat: Chat, script: Script, request: Request) -> None:
        self._chat = chat
        self._script = script
        self._request = request
        self.finish = "stop"

    def __iter__(self) -> Iterator[Step]:
        limit = None if self._script.endless or self._script.echo else self._chat.limit_tokens
        for count, step in enumerate(self._all_steps()):
            if limit is not None and count >= limit:
                self.finish = "length"
                break
            yield step
        self.finish = self._script.finish or self.finish

    def _all_steps(self) -> Iterator[Step]:
        script, chat = self._script, self._chat
        for i in range(script.reasoning):
            yield Step("reasoning", f"think{i} ")
        if script.tools and chat.may_call and chat.tool_turns < script.rounds:
            yield from self._tool_steps()
            self.finish = "tool_calls"
            return
        forced = chat.forced_tool
        if forced is not None and script == Script():
            yield from self._forced_steps(forced)
            self.finish = "tool_calls"
            return
        answer = json_answer(chat.response_format)
        if script.echo:
            yield Step("content", self._echo())
        elif answer is not None:
            yield from (Step("content", piece) for piece in _pieces(answer))
        elif script.big_bytes:
            yield Step("content", BIG_MARK)
        else:
            yield from (Step("content", word) for word in self._words())

    def _words(self) -> Iterator[str]:
        script = self._script
        if script.says:
            yield from tokens_of(TEXTS[script.says])
            return
        if script.text and script.cut:
            yield from _pieces(script.text, script.cut)
            return
        if script.text:
            yield from script.text.replace(" ", " \0").split("\0")
            return
        for i in itertools.count() if script.endless else range(script.tokens):
            word = f"@{time.monotonic_ns()} " if script.stamp else f"tok{i} "
            yield word.ljust(script.token_bytes, "x")

    def _tool_steps(self) -> Iterator[Step]:
        offered = [tool.get("function", {}).get("name") for tool in self._chat.tools or []]
        names = [name for name in offered if name] or ["get_weather"]
        for i in range(self._script.tools):
            yield Step("tool", names[i % len(names)], i)
            yield from (Step("args", piece, i) for piece in _pieces(self._script.args))

    def _forced_steps(self, tool: dict[str, Any]) -> Iterator[Step]:
        """The call that tool_choice asks for, with arguments that fit the schema."""
        schema = tool.get("parameters") or {}
        yield Step("tool", tool["name"])
        arguments = msgspec.json.encode(fitting_value(schema, schema)).decode()
        yield from (Step("args", piece) for piece in _pieces(arguments))

    def _echo(self) -> str:
        request = self._request
        received: dict[str, Any] = {
            "method": request.method,
            "path": request.path,
            "headers": request.headers,
            "body_text": request.body.decode("utf-8", "replace"),
        }
        return msgspec.json.encode(received).decode()


class SpokenCalls(Generation):
    """Many models say a few words before they call tools: the script's text, when it has both."""

    def _tool_steps(self) -> Iterator[Step]:
        if self._script.text:
            yield from (Step("content", word) for word in self._words())
        yield from super()._tool_steps()


def _pieces(text: str, chars: int = PIECE_CHARS) -> list[str]:
    return [text[i : i + chars] for i in range(0, len(text), chars)]
