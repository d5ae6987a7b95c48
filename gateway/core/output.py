"""What counts as output in a piece of an answer, and its text."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core import reasoning

Fields = Mapping[str, object]


def count_chars(fields: Fields) -> int:
    """Return the characters of output in a delta or a message; any output counts at least 1.

    The details of reasoning count once, and their signatures do not: no token is one.
    """
    content = fields.get("content")
    if isinstance(content, str) and len(fields) == 1 + ("role" in fields):
        return len(content)  # as of most
    chars = 0
    for name, value in fields.items():
        if isinstance(value, str):
            chars += len(value) if name != "role" else 0
        elif name == "tool_calls" and isinstance(value, list):
            chars += sum(_tool_chars(call) for call in value)
        elif name == reasoning.FIELD:
            chars += _reasoning_chars(fields)
        elif value:
            chars += 1
    return chars


def _reasoning_chars(fields: Fields) -> int:
    """Return what the details add to `reasoning`: encrypted ones count 1 each."""
    details = fields[reasoning.FIELD]
    given = details if isinstance(details, list) else []
    encrypted = sum(isinstance(detail, dict) and bool(detail.get("data")) for detail in given)
    return encrypted + sum(map(len, reasoning.texts_of_fields(fields)))


def _tool_chars(call: object) -> int:
    return max(sum(map(len, _texts_of_tool(call))), 1)


def _texts_of_tool(call: object) -> list[str]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return []
    said = (function.get("name"), function.get("arguments"))
    return [text for text in said if isinstance(text, str)]


def text_of(fields: Fields) -> str:
    """Return the text of output in a delta or a message: what was said, thought and called."""
    parts: list[str] = []
    for name, value in fields.items():
        if isinstance(value, str):
            parts += [value] if name != "role" else []
        elif name == "tool_calls" and isinstance(value, list):
            parts += [text for call in value for text in _texts_of_tool(call)]
        elif name == reasoning.FIELD:
            parts += reasoning.texts_of_fields(fields)
    return "".join(parts)
