"""Plays one scripted answer of Cohere's Chat API; what is written is judged by the SDK's types."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from cohere.v2.types.v2chat_response import V2ChatResponse
from cohere.v2.types.v2chat_stream_response import V2ChatStreamResponse
from pydantic import TypeAdapter

from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.generation import Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script

# What a generation ends with, in this dialect's words. A script may name the dialect's own.
FINISH = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL"}
# What the API puts around a prompt, which is counted and not billed.
FRAME_TOKENS = 60
CITATION = {
    "start": 0,
    "end": 4,
    "text": "tok0",
    "type": "TEXT_CONTENT",
    "sources": [{"type": "document", "id": "doc_0", "document": {"title": "Notes"}}],
}


@cache
def _answers() -> TypeAdapter[Any]:
    return TypeAdapter(V2ChatResponse)


@cache
def _events() -> TypeAdapter[Any]:
    return TypeAdapter(V2ChatStreamResponse)


class CoherePlayer(Player):
    """One answer to one request. cites: the request has documents."""

    cites = False

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._id = f"{serial:032x}"
        self._index = -1  # of what is open
        self._open = ("", 0)

    def _refusal_body(self) -> tuple[bytes, str]:
        if self._script.body != "json":
            return super()._refusal_body()
        said = {"id": self._id, "message": self._script.message}
        return msgspec.json.encode(said), "application/json"

    def _usage(self) -> Any:
        entry, (how, _, value) = self._entry, self._script.usage.partition(":")
        counts = {
            "input_tokens": float(entry.prompt_tokens),
            "output_tokens": float(entry.completion_tokens),
        }
        framed = counts | {"input_tokens": counts["input_tokens"] + FRAME_TOKENS}
        usage = {"billed_units": counts, "tokens": framed, "cached_tokens": entry.cached_tokens}
        falsified = {"none": msgspec.UNSET, "null": None, "raw": msgspec.Raw(value.encode())}
        return falsified.get(how, usage)

    async def _say(self, kind: str, *, is_judged: bool = True, **members: Any) -> None:
        event = {"type": kind, **members}
        if is_judged:
            _events().validate_python(event)
        data = msgspec.json.encode(event)
        await self._out.send(self._speller.event(data, kind.encode()))

    async def _start_stream(self) -> None:
        await self._out.send(self._speller.opening())
        empty: dict[str, Any] = {"role": "assistant", "content": [], "tool_calls": []}
        empty |= {"tool_plan": "", "citations": []}
        await self._say("message-start", id=self._id, delta={"message": empty}, is_judged=False)

    async def _say_steps(self, pending: list[Step]) -> None:
        first, text = pending[0], "".join(step.text for step in pending)
        place = ("tool" if first.kind == "args" else first.kind, first.tool)
        if first.kind == "tool":
            await self._end_block()
            self._index, self._open = self._index + 1, place
            await self._say_message("tool-call-start", {"tool_calls": self._call(first, "")})
        elif first.kind == "args":
            piece = {"function": {"arguments": text}}
            await self._say_message("tool-call-delta", {"tool_calls": piece})
        elif first.kind == "reasoning" and self._script.tools:
            await self._say("tool-plan-delta", delta={"message": {"tool_plan": text}})
        else:
            field = "text" if first.kind == "content" else "thinking"
            if place != self._open:
                await self._end_block()
                self._index, self._open = self._index + 1, place
                await self._say_message("content-start", {"content": {"type": field, field: ""}})
            await self._say_message("content-delta", {"content": {field: text}})
        pending.clear()

    async def _say_message(self, kind: str, message: dict[str, Any]) -> None:
        await self._say(kind, index=self._index, delta={"message": message})

    async def _end_block(self) -> None:
        kind = self._open[0]
        if kind:
            await self._say("tool-call-end" if kind == "tool" else "content-end", index=self._index)
        self._open = ("", 0)

    async def _end_stream(self) -> None:
        script, out = self._script, self._out
        await self._end_block()
        if self.cites:
            await self._say_message("citation-start", {"citations": CITATION})
            await self._say("citation-end", index=0)
        if script.truncate:
            await out.break_off("truncate")
        if script.usage_gate:
            await self._link.passed(script.usage_gate)
        usage, reason = self._usage(), self._generation.finish
        self._entry.report(None if usage is msgspec.UNSET else usage)
        delta = {"finish_reason": FINISH.get(reason, reason)}
        if usage is not msgspec.UNSET:
            delta["usage"] = usage
        end = {"type": "message-end", "id": self._id, "delta": delta}
        await out.send(self._speller.finish(msgspec.json.encode(end), b"message-end"))
        await out.finish()

    async def _say_error(self) -> None:
        delta = {"error": self._script.message, "finish_reason": "ERROR"}
        await self._say("message-end", id=self._id, delta=delta)

    async def _answer(self) -> None:
        steps = [step async for step in self._steps()]
        usage, reason = self._usage(), self._generation.finish
        self._entry.report(None if usage is msgspec.UNSET else usage)
        answer: dict[str, Any] = {
            "id": self._id,
            "finish_reason": FINISH.get(reason, reason),
            "message": self._message(steps),
        }
        if usage is not msgspec.UNSET:
            answer["usage"] = usage
        if not self._script.usage:
            _answers().validate_python(answer)
        await self._send_whole(msgspec.json.encode(answer))

    def _message(self, steps: list[Step]) -> dict[str, Any]:
        texts = {
            kind: "".join(step.text for step in steps if step.kind == kind)
            for kind in ("reasoning", "content")
        }
        said: dict[str, Any] = {"role": "assistant"}
        content: list[dict[str, str]] = []
        if texts["reasoning"] and self._script.tools:
            said["tool_plan"] = texts["reasoning"]
        elif texts["reasoning"]:
            content.append({"type": "thinking", "thinking": texts["reasoning"]})
        if texts["content"]:
            content.append({"type": "text", "text": texts["content"]})
        if content:
            said["content"] = content
        calls = [step for step in steps if step.kind == "tool"]
        if calls:
            said["tool_calls"] = [self._call(call, _arguments_of(call, steps)) for call in calls]
        if self.cites:
            said["citations"] = [CITATION]
        return said

    def _call(self, step: Step, arguments: str) -> dict[str, Any]:
        function = {"name": step.text, "arguments": arguments}
        return {"id": f"{step.text}_{step.tool}", "type": "function", "function": function}


def _arguments_of(call: Step, steps: list[Step]) -> str:
    return "".join(s.text for s in steps if (s.kind, s.tool) == ("args", call.tool))
