"""A dialect of its own: one question, one reply, pages beside tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gateway.core.chat import ChatCall, Text, ToolResult
from gateway.core.chat_messages import read_messages
from gateway.core.errors import ProviderUnavailable, UpstreamError
from gateway.core.events import (
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    UsageReported,
)
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.snapshot.types import TargetRecord
from tests.house.seams.framing import Netstrings


class ScratchChat:
    """An Adapter (gateway.providers.base)."""

    supported = frozenset({"model", "messages", "stream", "tools", "tool_choice", "inferada"})

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        return set(call.payload.fields) - self.supported - {"plugins"}

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        fields = call.payload.fields
        messages = read_messages(fields["messages"])
        parts = [part for message in messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        said = results[-1].content if results else messages[-1].parts
        tools = json.loads(fields.get("tools", b"[]"))
        body = {
            "question": "".join(part.text for part in said if isinstance(part, Text)),
            "task": next(part.text for part in parts if isinstance(part, Text)),
            "results": len(results),
            "tools": [tool["function"]["name"] for tool in tools],
            "may_call": fields.get("tool_choice") != b'"none"',
            "limit": grant.cap_tokens or grant.limit_tokens,
            "stream": call.facts.stream,
        }
        return UpstreamRequest(
            url=f"{target.base_url}/say", headers={}, body=json.dumps(body).encode()
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        said = json.loads(body)
        message: dict[str, Any] = {"role": "assistant", "content": said["reply"]}
        if said["call"]:
            message["tool_calls"] = [said["call"]]
        choice = Choice(0, message, "tool_calls" if said["call"] else "stop")
        return ChatAnswer((choice,), read_usage(said["used"]))

    def open_decoder(self, request: UpstreamRequest) -> ScratchDecoder:
        return ScratchDecoder()

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        return ProviderUnavailable("The provider failed.")

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        return ()


class ScratchDecoder:
    """A Decoder (gateway.providers.base)."""

    def __init__(self) -> None:
        self.framing = Netstrings()

    def read(self, frame: bytes) -> list[StreamEvent]:
        said = json.loads(frame)
        if "piece" in said:
            return [Delta(0, {"content": said["piece"]})]
        if "call" in said:
            return [Delta(0, {"tool_calls": [{"index": 0, **said["call"]}]})]
        usage = read_usage(said["used"])
        return [Finish(0, said["end"]), UsageReported(usage), StreamEnd()]


def read_usage(used: list[int]) -> Usage:
    prompt, completion, pages = used
    return Usage(prompt, completion, others={"page": pages})
