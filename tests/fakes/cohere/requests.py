"""What Cohere's Chat API refuses, judged by its SDK's own types and by the bounds of its reference.

https://docs.cohere.com/v2/reference/chat
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from cohere.types import ChatMessages, ResponseFormatV2, Thinking, ToolV2
from cohere.types.document import Document
from cohere.v2.client import V2Client
from pydantic import BaseModel, TypeAdapter, ValidationError

# The least and the most of each number.
BOUNDS = {
    "p": (0.01, 0.99),
    "k": (0, 500),
    "frequency_penalty": (0, 1),
    "presence_penalty": (0, 1),
    "temperature": (0, 2),
    "seed": (0, 2**64 - 1),
    "max_tokens": (1, 10**9),
}
_TYPES: dict[str, Any] = {
    "messages": ChatMessages,
    "tools": list[ToolV2],
    "response_format": ResponseFormatV2,
    "thinking": Thinking,
    "documents": list[str | Document],
}


class Refused(Exception):
    """The API does not take this body."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@cache
def _members() -> frozenset[str]:
    return frozenset(inspect.signature(V2Client.chat).parameters) - {"self", "request_options"}


@cache
def _type_of(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_TYPES[name])


def refuse_body(body: dict[str, Any]) -> None:
    """Raise Refused for what the API would not take."""
    unknown = body.keys() - _members() - {"stream"}
    if unknown:
        raise Refused(f"invalid request: unknown field {min(unknown)}.")
    for name in ("model", "messages"):
        if not body.get(name):
            raise Refused(f"invalid request: {name} is required.")
    for name in _TYPES.keys() & body.keys():
        _judge(name, body[name])
    for name, (least, most) in BOUNDS.items():
        if name in body and not least <= body[name] <= most:
            raise Refused(f"invalid request: {name} must be between {least} and {most}.")
    if len(body.get("stop_sequences", ())) > 5:
        raise Refused("invalid request: at most 5 stop sequences are supported.")
    _refuse_tools(body)


def _refuse_tools(body: dict[str, Any]) -> None:
    if body.get("tool_choice", "NONE") not in ("REQUIRED", "NONE"):
        raise Refused("invalid request: tool_choice must be REQUIRED or NONE.")
    if "tool_choice" in body and not body.get("tools"):
        raise Refused("invalid request: tool_choice needs tools.")
    called: set[str] = set()
    for message in body["messages"]:
        called.update(call["id"] for call in message.get("tool_calls") or ())
        if message["role"] == "tool" and message["tool_call_id"] not in called:
            raise Refused("invalid request: tool call id not found in previous tool calls.")


def _judge(name: str, value: Any) -> None:
    try:
        found = _type_of(name).validate_python(value)
    except ValidationError as error:
        raise Refused(f"invalid request: {name}: {error}") from None
    if extra := list(_extras(found)):
        raise Refused(f"invalid request: {name} has unknown fields: {', '.join(extra)}.")


def _extras(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _extras(each)
    elif isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from _extras(getattr(value, name))
