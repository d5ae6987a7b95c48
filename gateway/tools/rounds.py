"""What one round of a tool loop asked for, and the request of the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gateway.core import reasoning
from gateway.core.chat import ChatCall
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.money import Usage, sum_usage
from gateway.core.server_tools import CallTool
from gateway.core.token_bounds import TOKENS_PER_MESSAGE, bound_tokens

# What tools of the gateway are called towards the model: no tool of a caller's is.
PREFIX = "hi_"
_encode = msgspec.json.encode
_read_details = msgspec.json.Decoder(list[reasoning.AnyDetail]).decode


class ToolRequest(msgspec.Struct):
    """A tool call of the model's, put together from its pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, piece: object) -> None:
        """Add a piece of a stream, or the whole of a message."""
        if not isinstance(piece, Mapping):
            return
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        self.id = _text(piece.get("id")) or self.id
        self.name += _text(function.get("name"))
        self.arguments += _text(function.get("arguments"))

    def as_message_part(self) -> JsonObject:
        function = {"name": self.name, "arguments": self.arguments or "{}"}
        return {"id": self.id, "type": "function", "function": function}


class Said(msgspec.Struct):
    """What the model said in a round after which tools run."""

    content: str = ""
    # As in messages and deltas; its pieces are put together for the next request.
    reasoning_details: list[JsonValue] = []

    def add(self, fields: Mapping[str, JsonValue]) -> None:
        self.content += _text(fields.get("content"))
        details = fields.get(reasoning.FIELD)
        if isinstance(details, list):
            self.reasoning_details += details

    def as_message(self, requests: Iterable[ToolRequest]) -> JsonObject:
        message: JsonObject = {
            "role": "assistant",
            "content": self.content or None,
            "tool_calls": [request.as_message_part() for request in requests],
        }
        if self.reasoning_details:
            # A provider takes tool results only behind the thoughts that it has signed.
            message[reasoning.FIELD] = _merge(self.reasoning_details)
        return message


def _merge(details: list[JsonValue]) -> JsonValue:
    try:
        return reasoning.merge(_read_details(_encode(details)))
    except msgspec.ValidationError:
        return details


def read_requests(calls: object) -> list[ToolRequest]:
    """Return the tool calls of a whole message."""
    requests = []
    for piece in calls if isinstance(calls, list) else ():
        request = ToolRequest()
        request.add(piece)
        requests.append(request)
    return requests


def define(tool: CallTool) -> bytes:
    """Return the definition of a tool, raw JSON."""
    function = {
        "name": PREFIX + tool.function,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return _encode({"type": "function", "function": function})


def without_tools(call: ChatCall) -> ChatCall:
    """Return the call for a last round in which no tool may be called."""
    fields = {**call.payload.fields, "tool_choice": b'"none"'}
    return call.with_payload(fields=fields)


def next_round(
    call: ChatCall, said: Said, requests: Sequence[ToolRequest], texts: Sequence[str]
) -> ChatCall:
    """Return the call with what the model said and what it gets of its tools."""
    messages = [_encode(said.as_message(requests))]
    for request, text in zip(requests, texts, strict=True):
        messages.append(_encode({"role": "tool", "tool_call_id": request.id, "content": text}))
    before = bytes(call.payload.fields["messages"]).rstrip()[:-1]
    fields = {**call.payload.fields, "messages": b",".join([before, *messages]) + b"]"}
    if fields.get("tool_choice") not in (None, b'"auto"', b'"none"', b"null"):
        fields["tool_choice"] = b'"auto"'  # what was forced has been called
    return call.with_payload(fields=fields)


def bound_added(said: Said, requests: Sequence[ToolRequest], texts: Sequence[str]) -> int:
    """Return a bound of the tokens that a round adds to the prompt of the next."""
    written = [_encode(said.as_message(requests)).decode(), *texts]
    return TOKENS_PER_MESSAGE * len(written) + sum(map(bound_tokens, written))


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return the sum of two rounds; None when a round was not counted."""
    return None if one is None or other is None else sum_usage(one, other)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
