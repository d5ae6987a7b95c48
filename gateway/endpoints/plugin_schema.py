"""Server tools in the OpenAPI document: each with the options that it has."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from gateway.core.json_types import JsonObject, JsonValue
from gateway.endpoints.json_schema import optional
from gateway.endpoints.plugins import MAX_PLUGINS
from gateway.tools.registry import ALIASES, FAMILIES, TOOLS

_REF = "#/$defs/"


def describe_plugins() -> JsonObject:
    """Return the schema of `plugins`."""
    spellings: list[JsonObject] = [
        describe_tool("id", {"enum": _spellings(name)}, tool.options)
        for name, tool in sorted(TOOLS.items())
    ]
    for prefix, family in sorted(FAMILIES.items()):
        name = {"type": "string", "pattern": f"^{prefix}:"}
        spellings.append(describe_tool("id", name, family.options))
    plugins = {"type": "array", "items": {"anyOf": spellings}, "maxItems": MAX_PLUGINS}
    return optional({**plugins, "description": "Server tools, and their options."})


def describe_tool(
    member: str,
    name: JsonObject,
    options: type[Struct],
    more: Mapping[str, JsonValue] | None = None,
) -> JsonObject:
    """Return the schema of a server tool with its options.

    member: where its name stands. name: the schema of that. more: members beside the options.
    """
    [_], parts = msgspec.json.schema_components([options], ref_template=_REF + "{name}")
    own = _inlined(parts[options.__name__]["properties"], parts)
    return {
        "type": "object",
        "required": [member],
        "properties": {
            member: name,
            "events": optional({"type": "boolean"}),
            "enabled": optional({"type": "boolean"}),
            **own,
            **(more or {}),
        },
        "additionalProperties": False,
    }


def _spellings(name: str) -> list[str]:
    return [name, *sorted(alias for alias, meant in ALIASES.items() if meant == name)]


def _inlined(schema: JsonValue, parts: Mapping[str, JsonObject]) -> JsonValue:
    """Return the schema without references, none of which leads in a circle."""
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _inlined(parts[reference.removeprefix(_REF)], parts)
    return {key: _inlined(value, parts) for key, value in schema.items()}
