"""Parts of JSON Schemas that say of requests what types cannot.

What JSON Schema cannot say either (two tools of one name, a file whose bytes are something else)
stands in the list of errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gateway.core.json_types import JsonObject
from gateway.core.parameters import any_case_pattern, steering_pattern
from gateway.endpoints.reading import MAX_NAME_CHARS

# How one type of the document refers to another.
REF = "#/components/schemas/{name}"
NOTHING: JsonObject = {"type": "null"}
AN_OBJECT: JsonObject = {"type": "object"}
SOME_TEXT: JsonObject = {"type": "string", "minLength": 1}
# False or null. Written so that generators of clients read a boolean.
OFF: JsonObject = {"anyOf": [{"type": "boolean"}, {"type": "null"}], "not": {"const": True}}
# Of a picture, which may be in it.
ADDRESS: JsonObject = {"pattern": r"^([Hh][Tt][Tt][Pp][Ss]?://[^/\s]|[Dd][Aa][Tt][Aa]:)"}
UUID: JsonObject = {"type": "string", "format": "uuid"}
FALLBACKS = "Fallback models in order. Replaces the model's own list."


def reference(struct: type[Struct]) -> JsonObject:
    return {"$ref": REF.format(name=struct.__name__)}


def optional(schema: JsonObject) -> JsonObject:
    """Return the schema with null, which means absent throughout."""
    return {"anyOf": [schema, NOTHING]}


def or_empty(*schemas: JsonObject) -> JsonObject:
    """Return the schema of a text outside a body, where an empty one means absent."""
    return {"anyOf": [{"type": "string"} | schema for schema in (*schemas, {"maxLength": 0})]}


def given(name: str, schema: JsonObject) -> JsonObject:
    """Return what holds when the member is there and fits the schema."""
    return {"required": [name], "properties": {name: schema}}


def unless(name: str, schema: JsonObject, other: JsonObject) -> JsonObject:
    """Return what holds when the member is absent or fits the schema, or else the other does."""
    return {"anyOf": [{"properties": {name: schema}}, other]}


def complete_common(request: JsonObject, known: Iterable[str]) -> None:
    """Complete what all endpoints that read OpenAI's formats have (gateway.endpoints.reading).

    known: the names of members that are passed on where unknown ones are denied.
    """
    names = sorted(known)
    misplaced = {"processors"} if "inferada" in names else set()
    refused = (steering_pattern(), any_case_pattern({*names, *misplaced}), "^tensorzero::")
    members = request["properties"]
    members["models"]["description"] = FALLBACKS
    members["tensorzero::episode_id"] = optional(UUID)
    request["additionalProperties"] = True
    request["propertyNames"] = {
        "anyOf": [
            {"enum": names},
            {
                "maxLength": MAX_NAME_CHARS,
                "not": {"anyOf": [{"pattern": pattern} for pattern in refused]},
            },
        ]
    }
    denies = "tensorzero::deny_unknown_fields"
    request["allOf"] = [unless(denies, {"enum": [None, False]}, {"propertyNames": {"enum": names}})]


def complete_form(request: JsonObject, file: str) -> None:
    """Complete a form: a field that is not set is left out, as none is null; others than the known
    ones are text. Generators of requests with files know no conditions. file: the member that is
    the file itself."""
    members = request["properties"]
    for name, member in members.items():
        member.pop("default", None)
        if "enum" in member:
            member["enum"] = [value for value in member["enum"] if value is not None]
        kinds = [kind for kind in member.pop("anyOf", ()) if kind != NOTHING]
        if len(kinds) > 1:
            member["anyOf"] = kinds
        members[name] = member | kinds[0] if len(kinds) == 1 else member
    members[file] = {"type": "string", "format": "binary"}
    request["additionalProperties"] = {"type": "string"}
    for rule in ("allOf", "propertyNames"):
        request.pop(rule)


def complete_plain(request: JsonObject, known: Iterable[str], not_here: Iterable[str]) -> None:
    """Complete a request of gateway.endpoints.plain. not_here: members that have to be off."""
    names = sorted(not_here)
    request["properties"] |= {name: OFF | {"description": "Not available."} for name in names}
    complete_common(request, {*known, *names})
