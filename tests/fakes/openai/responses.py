"""OpenAI's Responses API as the fake upstream speaks it: what it refuses, and how it answers.

Nothing is stored: what refers to stored items or responses is refused, as with `store: false`.
Whatever is asked and answered is judged by the openai SDK's own types.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import LEFT_OUT, encode, usage_of
from tests.fakes.generation import Step
from tests.fakes.openai.judges import judge_answer, judge_request
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script
from tests.fakes.strictness import Refused

# How OpenAI's own encrypted reasoning begins.
SEALED = "gAAAAAB"
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def read_chat(request: Request) -> Chat:
    """Return what was asked. Raises Refused, as the provider refuses."""
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body)
    except msgspec.DecodeError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from None
    params = (
        ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming
    )
    judge_request(params, _as_the_sdk_asks(body))
    if body.get("previous_response_id"):
        raise Refused(f"Previous response with id '{body['previous_response_id']}' not found.")
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        _refuse_item(item)
    messages = [Message("system", body.get("instructions") or "")]
    messages += [Message(*read_item(item)) for item in items]
    form = (body.get("text") or {}).get("format") or {}
    wanted = {"type": "json_schema", "json_schema": form}
    return Chat(
        model=body["model"],
        messages=messages,
        stream=body.get("stream"),
        max_tokens=body.get("max_output_tokens"),
        tools=[{"function": {"name": tool["name"]}} for tool in body.get("tools") or ()] or None,
        response_format=wanted if form.get("type") == "json_schema" else None,
        logprobs="message.output_text.logprobs" in (body.get("include") or ()),
    )


def _as_the_sdk_asks(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body without what OpenAI takes and its SDK's types do not have: `client_metadata`
    and the IDs of messages that are no assistant's. Codex sends both. Raises Refused for IDs of
    another form: github.com/openai/codex/issues/33176
    """
    metadata = body.get("client_metadata") or {}
    if not all(isinstance(value, str) for value in metadata.values()):
        raise Refused("Invalid type for 'client_metadata': expected strings.")
    body = {name: value for name, value in body.items() if name != "client_metadata"}
    if isinstance(body.get("input"), list):
        body["input"] = [_without_id(n, item) for n, item in enumerate(body["input"])]
    return body


def _without_id(index: int, item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type", "message") != "message" or "role" not in item or "id" not in item:
        return item
    if not str(item["id"]).startswith("msg"):
        said = (
            f"Invalid 'input[{index}].id': '{item['id']}'. Expected an ID that begins with 'msg'."
        )
        raise Refused(said)
    if item["role"] == "assistant":
        return item
    return {name: value for name, value in item.items() if name != "id"}


def _refuse_item(item: dict[str, Any]) -> None:
    if item.get("type") == "item_reference":
        raise Refused(f"Item with id '{item['id']}' not found.")
    if item.get("type") != "reasoning":
        return
    sealed = item.get("encrypted_content")
    if not sealed:
        raise Refused(f"Item with id '{item.get('id')}' not found. Items are not persisted.")
    if not sealed.startswith(SEALED):
        raise Refused("The encrypted content could not be verified.")


def read_item(item: dict[str, Any]) -> tuple[str, str]:
    kind = item.get("type", "message")
    if kind.endswith("_output"):
        return "tool", str(item["output"])
    if kind != "message":
        return "assistant", ""
    content = item["content"]
    if isinstance(content, str):
        return item["role"], content
    return item["role"], " ".join(str(part["text"]) for part in content if part.get("text"))


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    chat = read_chat(request)
    script = chat.script()
    entry.note(chat.model, chat.count_words(), script, stream=bool(chat.stream))
    return ResponsesPlayer(link, request, chat, script, entry, serial)


class ResponsesPlayer(Player):
    """One answer to one request."""

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._stem = f"{serial:032x}"
        self._number = 0
        self._items: list[dict[str, Any]] = []
        self._open: tuple[str, int] | None = None

    def _response(self, status: str, usage: Any = None) -> dict[str, Any]:
        response: dict[str, Any] = {
            "id": f"resp_{self._stem}",
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "model": self._chat.model,
            "output": self._items,
            "error": None,
            "incomplete_details": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }
        if status == "incomplete":
            response["incomplete_details"] = {"reason": INCOMPLETE[self._generation.finish]}
        return response

    def _usage(self) -> Any:
        usage = usage_of(self._script, self._entry)
        if not isinstance(usage, dict):
            return usage
        return {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}
            | usage.get("prompt_tokens_details", {}),
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": usage.get("completion_tokens_details")
            or {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }

    def _status(self) -> str:
        return "incomplete" if self._generation.finish in INCOMPLETE else "completed"

    async def _say(self, kind: str, **members: Any) -> None:
        event = {"type": kind, "sequence_number": self._number, **members}
        self._number += 1
        if not self._script.usage:
            _EVENT.validate_python(event)
        await self._out.send(self._speller.event(encode(event), kind.encode()))

    async def _start_stream(self) -> None:
        await self._out.send(self._speller.opening())
        for kind in ("response.created", "response.in_progress"):
            await self._say(kind, response=self._response("in_progress"))

    def _begin(self, step: Step) -> dict[str, Any]:
        """Return the item that this step begins."""
        place = len(self._items)
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{self._stem}{place}", "summary": []}
        if step.kind == "content":
            said = {"role": "assistant", "status": "in_progress", "content": []}
            item = {"type": "message", "id": f"msg_{self._stem}{place}", **said}
        elif step.kind == "tool":
            item = {"type": "function_call", "id": f"fc_{self._stem}{place}", "arguments": ""}
            item |= {"call_id": f"call_{step.tool}", "name": step.text, "status": "in_progress"}
        self._items.append(item)
        return item

    def _add(self, item: dict[str, Any], step: Step, text: str) -> None:
        """Add a text to the item."""
        if step.kind == "reasoning":
            item["summary"] = item["summary"] or [{"type": "summary_text", "text": ""}]
            item["summary"][0]["text"] += text
            item["encrypted_content"] = f"{SEALED}{self._stem}"
        elif step.kind == "content":
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            item["content"] = item["content"] or [empty]
            item["content"][0]["text"] += text
        elif step.kind == "args":
            item["arguments"] += text

    async def _say_steps(self, pending: list[Step]) -> None:
        first = pending[0]
        block = ("tool" if first.kind == "args" else first.kind, first.tool)
        if block != self._open:
            await self._end_item()
            item = self._begin(first)
            self._open = block
            await self._say(
                "response.output_item.added", output_index=len(self._items) - 1, item=item
            )
        item = self._items[-1]
        text = "".join(step.text for step in pending)
        self._add(item, first, text)
        place = {"item_id": item["id"], "output_index": len(self._items) - 1}
        if first.kind == "reasoning":
            kind = "response.reasoning_summary_text.delta"
            await self._say(kind, **place, summary_index=0, delta=text)
        elif first.kind == "content":
            said = {"content_index": 0, "delta": text, "logprobs": []}
            await self._say("response.output_text.delta", **place, **said)
        elif first.kind == "args":
            await self._say("response.function_call_arguments.delta", **place, delta=text)
        pending.clear()

    async def _end_item(self) -> None:
        if self._open is None:
            return
        self._open = None
        item = self._items[-1]
        if "status" in item:
            item["status"] = "completed"
        await self._say("response.output_item.done", output_index=len(self._items) - 1, item=item)

    async def _say_error(self) -> None:
        said = {"code": "server_error", "message": self._script.message, "param": None}
        await self._say("error", **said)

    async def _end_stream(self) -> None:
        await self._end_item()
        if self._script.truncate:
            await self._out.break_off("truncate")
        if self._script.usage_gate:
            await self._link.passed(self._script.usage_gate)
        usage = self._usage()
        self._entry.report(None if usage is LEFT_OUT else usage)
        status = self._status()
        response = self._response(status, None if usage is LEFT_OUT else usage)
        await self._say(f"response.{status}", response=response)
        await self._out.finish()

    async def _send_answer(self, steps: list[Step]) -> None:
        for step in steps:
            block = ("tool" if step.kind == "args" else step.kind, step.tool)
            if block != self._open:
                self._begin(step)
                self._open = block
            self._add(self._items[-1], step, step.text)
        for item in self._items:
            if "status" in item:
                item["status"] = "completed"
        usage = self._usage()
        self._entry.report(None if usage is LEFT_OUT else usage)
        response = self._response(self._status(), None if usage is LEFT_OUT else usage)
        if not self._script.usage:
            judge_answer(Response, response)
        await self._send_whole(encode(response))
