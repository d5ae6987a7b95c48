"""The smallest JSON value that fits a JSON schema, for answers to json_schema requests."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.script import ScriptError

_SIMPLE: dict[str, Any] = {
    "string": "tok0",
    "integer": 7,
    "number": 0.5,
    "boolean": True,
    "null": None,
}


def json_answer(response_format: dict[str, Any] | None) -> str | None:
    """Return the answer's text for a response_format, or None when plain text is wanted. Raises
    ScriptError for a schema that makes no sense."""
    wanted = response_format or {}
    kind = wanted.get("type")
    if kind == "json_object":
        return '{"ok": true}'
    if kind == "enum":  # as Gemini has it: a text, and no JSON
        return str(wanted["schema"]["enum"][0])
    if kind not in ("json_schema", "json"):  # json: as TGI has it
        return None
    try:
        schema = wanted["value"] if kind == "json" else wanted["json_schema"].get("schema", {})
        value = fitting_value(schema, schema)
    except RecursionError:
        value = None  # a schema that refers to itself without end
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ScriptError(f"Invalid schema for response_format: {error!r}.") from None
    return msgspec.json.encode(value).decode()


def fitting_value(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Return a value that fits `schema`; `root` is where its #/… references point."""
    if "$ref" in schema:
        return fitting_value(_referred(schema["$ref"], root), root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return fitting_value(schema[choice][0], root)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: fitting_value(part, root) for name, part in properties.items()}
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [fitting_value(schema.get("items", {"type": "string"}), root)] * count
    return schema.get("minimum", _SIMPLE[kind]) if kind in ("integer", "number") else _SIMPLE[kind]


def _referred(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    place: Any = root
    for name in reference.removeprefix("#/").split("/"):
        place = place[name] if name != "#" else place
    if not isinstance(place, dict):
        raise TypeError(f"{reference} is no schema")
    return place
