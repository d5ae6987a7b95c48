"""What one round of a tool loop asked for, and the request of the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.money import Usage, sum_usage
from gateway.core.token_bounds import TOKENS_PER_MESSAGE, bound_tokens
from gateway.tools.base import ServerTool

# What tools of the gateway are called towards the model: no tool of a caller's is.
PREFIX = "hi_"
_encode = msgspec.json.encode


class ToolRequest(msgspec.Struct):
    """A tool call of the model's, put together from its pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_ours(self) -> bool:
        return self.name.startswith(PREFIX)

    def add(self, piece: object) -> None:
        """Add a piece of a stream, or the whole of a message."""
        if not isinstance(piece, Mapping):
            return
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        self.id = _text(piece.get("id")) or self.id
        self.name += _text(function.get("name"))
        self.arguments += _text(function.get("arguments"))

    def as_message_part(self) -> dict[str, object]:
        function = {"name": self.name, "arguments": self.arguments or "{}"}
        return {"id": self.id, "type": "function", "function": function}


def read_requests(calls: object) -> list[ToolRequest]:
    """Return the tool calls of a whole message."""
    requests = []
    for piece in calls if isinstance(calls, list) else ():
        request = ToolRequest()
        request.add(piece)
        requests.append(request)
    return requests


def define(tool: ServerTool) -> bytes:
    """Return the definition of a tool, raw JSON."""
    function = {
        "name": PREFIX + tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return _encode({"type": "function", "function": function})


def with_tools(call: ChatCall, tools: Iterable[ServerTool]) -> ChatCall:
    """Return the call with the definitions of tools after its own."""
    own = msgspec.json.decode(call.payload.fields.get("tools") or b"[]", type=list[msgspec.Raw])
    own += [msgspec.Raw(define(tool)) for tool in tools]
    return call.with_payload(fields={**call.payload.fields, "tools": _encode(own)})


def without_tools(call: ChatCall) -> ChatCall:
    """Return the call for a last round in which no tool may be called."""
    fields = {**call.payload.fields, "tool_choice": b'"none"'}
    return call.with_payload(fields=fields)


def next_round(
    call: ChatCall, content: str, requests: Sequence[ToolRequest], results: Sequence[object]
) -> tuple[ChatCall, int]:
    """Return the call with what the model said and what its tools returned, and a bound of the
    tokens that this adds to its prompt."""
    said = {
        "role": "assistant",
        "content": content or None,
        "tool_calls": [request.as_message_part() for request in requests],
    }
    messages = [_encode(said)]
    for request, result in zip(requests, results, strict=True):
        text = result if isinstance(result, str) else _encode(result).decode()
        messages.append(_encode({"role": "tool", "tool_call_id": request.id, "content": text}))
    added_tokens = TOKENS_PER_MESSAGE * len(messages)
    added_tokens += sum(bound_tokens(message.decode()) for message in messages)
    before = bytes(call.payload.fields["messages"]).rstrip()[:-1]
    fields = {**call.payload.fields, "messages": b",".join([before, *messages]) + b"]"}
    if fields.get("tool_choice") not in (None, b'"auto"', b'"none"', b"null"):
        fields["tool_choice"] = b'"auto"'  # what was forced has been called
    return call.with_payload(fields=fields), added_tokens


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return the sum of two rounds; None when a round was not counted."""
    return None if one is None or other is None else sum_usage(one, other)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
