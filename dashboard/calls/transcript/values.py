"""Values of stored JSON, whatever they turn out to be, as texts for a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

from dashboard.calls.transcript.transcript import Message
from gateway.core.json_types import JsonObject

MAX_CHARS = 100_000  # of one text: a page has to stay a page


def parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def text_of(value: object) -> str:
    """Return a text that can be written as UTF-8, "" for all that is none."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def cut(text: str) -> str:
    text = text_of(text)
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}\n({len(text) - MAX_CHARS:,} more characters)"


def pretty(text: str) -> str:
    """Return JSON indented, and any other text as it is."""
    found = parse(text)
    return cut(text) if found is None else indented(found)


def indented(value: object) -> str:
    try:
        return cut(json.dumps(value, indent=2, ensure_ascii=False))
    except RecursionError:
        return ""


def shown(value: object) -> str:
    """Write a value of JSON as people do: true, not True; 0.0000081, not 8.1e-06."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return cut(f"{Decimal(str(value)):f}" if isinstance(value, float) else str(value))


def items_of(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def object_of(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def objects_of(value: object) -> list[JsonObject]:
    """Return the objects in a list."""
    return [each for each in items_of(value) if isinstance(each, dict)]


def number_of(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def texts_and_parts(content: object) -> tuple[str, list[str]]:
    """Return the text of a content, and the types of those of its parts that are none."""
    if not isinstance(content, list):
        return cut(text_of(content)), []
    given = objects_of(content)
    texts = [text_of(part.get("text")) for part in given]
    others = [part for part in given if not isinstance(part.get("text"), str)]
    parts = [cut(text_of(part.get("type")) or "a part") for part in others]
    return cut("\n".join(filter(None, texts))), parts


def inputs_of(value: object, role: str) -> list[Message]:
    """Return a message for each input: texts, lists of token IDs, or parts of one message."""
    if isinstance(value, str):
        return [Message(role=role, text=cut(value))]
    if isinstance(value, list) and value and isinstance(value[0], int):
        return [Message(role=role, parts=[f"{len(value):,} tokens"])]
    messages = []
    for each in items_of(value):
        if isinstance(each, dict):
            text, parts = texts_and_parts([each])
            messages.append(Message(role=role, text=text, parts=parts))
        elif isinstance(each, list):
            messages.append(Message(role=role, parts=[f"{len(each):,} tokens"]))
        else:
            messages.append(Message(role=role, text=cut(text_of(each))))
    return messages


def facts_of(body: JsonObject, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return those members that a body has, with what they are called on the page."""
    given = [(name, body.get(name)) for name in names]
    return [(name.replace("_", " "), shown(value)) for name, value in given if value is not None]


def request_facts(body: JsonObject, names: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return what a request says beside its messages."""
    facts = facts_of(body, ("model", "stream", *names))
    tools = [name for tool in objects_of(body.get("tools")) if (name := _tool_name(tool))]
    return [*facts, ("tools", cut(", ".join(tools)))] if tools else facts


def _tool_name(tool: JsonObject) -> str:
    """Return the name of a tool, which some formats have within `function`."""
    return text_of(object_of(tool.get("function")).get("name") or tool.get("name"))


def usage_facts(body: JsonObject) -> list[tuple[str, str]]:
    """Return the usage of an answer or of a chunk."""
    usage = object_of(body.get("usage"))
    flat = {name: value for name, value in usage.items() if not isinstance(value, dict | list)}
    for inner in usage.values():
        flat |= object_of(inner)
    return [(name.replace("_", " "), shown(value)) for name, value in flat.items() if value]


def error_of(body: JsonObject) -> str:
    error = body.get("error")
    if isinstance(error, dict):
        code = text_of(error.get("code")) or text_of(error.get("type"))
        return cut(": ".join(filter(None, (code, text_of(error.get("message"))))))
    return cut(text_of(error))
