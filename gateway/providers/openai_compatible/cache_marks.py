"""Callers' marks for the prompt cache, taken off for kinds that would refuse them.

They stand on messages, on parts of messages and on tools. A list of texts is there for the sake of
its marks, so without them it becomes one text, which more servers take.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.json_types import JsonObject
from gateway.providers.catalogue import ProviderKind

FIELD = "cache_control"
BETWEEN = "\n\n"
_read = msgspec.json.Decoder(list[JsonObject]).decode
_encode = msgspec.json.encode


def are_lost(call: ChatCall, kind: ProviderKind) -> bool:
    """True where the call has marks that this kind does not take."""
    return FIELD in call.payload.message_fields and not kind.takes_cache_control


def without_marks(fields: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the fields that had marks, without them."""
    changed: dict[str, bytes | None] = {}
    messages, tools = fields.get("messages"), fields.get("tools")
    if messages:
        changed["messages"] = _encode([_unmark(message) for message in _read(messages)])
    if tools:
        changed["tools"] = _encode([_unmark_tool(tool) for tool in _read(tools)])
    return changed


def _unmark_tool(tool: JsonObject) -> JsonObject:
    if isinstance(function := tool.get("function"), dict):
        tool["function"] = _without_mark(function)
    return _without_mark(tool)


def _unmark(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if isinstance(content, list):
        parts = [_without_mark(part) for part in content]
        message["content"] = parts
        if message["role"] != "user" and all(part["type"] == "text" for part in parts):
            message["content"] = BETWEEN.join(part["text"] for part in parts)
    return _without_mark(message)


def _without_mark(part: JsonObject) -> JsonObject:
    return {name: value for name, value in part.items() if name != FIELD}
