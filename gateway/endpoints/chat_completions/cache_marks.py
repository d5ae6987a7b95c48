"""Marks for the prompt cache in a request: on messages, on their parts and on tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gateway.core.json_types import JsonObject

FIELD = "cache_control"
# No text of a message has this in it: quotes are escaped there.
QUOTED = b'"cache_control"'
_NONE: frozenset[str] = frozenset()
_read = msgspec.json.Decoder(list[JsonObject] | None).decode


def marks_in(body: bytes, fields: Mapping[str, bytes]) -> frozenset[str]:
    """Return the name of the marks where the messages or tools have some, else nothing."""
    if body.find(QUOTED) < 0:
        return _NONE
    has_marks = any(value.get(FIELD) is not None for value in _markable(fields))
    return frozenset({FIELD}) if has_marks else _NONE


def _markable(fields: Mapping[str, bytes]) -> Iterator[JsonObject]:
    for message in _read(fields["messages"]) or ():
        yield message
        content = message.get("content")
        if isinstance(content, list):
            yield from [part for part in content if isinstance(part, dict)]
    for tool in _read(fields.get("tools", b"null")) or ():
        yield tool
        if isinstance(function := tool.get("function"), dict):
            yield function
