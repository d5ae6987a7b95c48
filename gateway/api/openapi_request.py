"""What the types of a request cannot say about it and JSON Schema can.

Each rule here is one that gateway.endpoints enforces in code. What JSON Schema cannot say either
(two tools of one name, a file whose bytes are something else) stands in the list of errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from gateway.core.json_types import JsonObject
from gateway.core.parameters import steering_pattern
from gateway.endpoints.chat_completions.guided_decoding import (
    BACKENDS,
    MAX_GRAMMAR_CHARS,
    MAX_PATTERN_CHARS,
)
from gateway.endpoints.chat_completions.response_format import KEYWORDS
from gateway.endpoints.chat_completions.schema import KNOWN, NOT_LOOKED_INTO
from gateway.endpoints.embeddings import schema as embeddings
from gateway.endpoints.reading import MAX_NAME_CHARS

Schemas = dict[str, JsonObject]

NOTHING: JsonObject = {"type": "null"}
AN_OBJECT: JsonObject = {"type": "object"}
SOME_TEXT: JsonObject = {"type": "string", "minLength": 1}
UUID: JsonObject = {"type": "string", "format": "uuid"}
PATTERN: JsonObject = SOME_TEXT | {"maxLength": MAX_PATTERN_CHARS}
CHOICE: JsonObject = {"type": "array", "items": {"type": "string"}, "minItems": 1}
ITS_TEXT: JsonObject = {
    "type": "string",
    "pattern": r"^[ \t\r\n]*\{",
    "contentMediaType": "application/json",
}
OBJECT_OR_ITS_TEXT: JsonObject = {"anyOf": [AN_OBJECT, ITS_TEXT]}
ADDRESS: JsonObject = {"pattern": r"^([Hh][Tt][Tt][Pp][Ss]?://[^/\s]|[Dd][Aa][Tt][Aa]:)"}
NONE_OF_THEM: JsonObject = {"anyOf": [{"type": "array", "items": {}, "maxItems": 0}, NOTHING]}
NO_PROCESSORS: JsonObject = NONE_OF_THEM | {"description": "No processors are available."}

# False or null. Written so that generators of clients read a boolean.
OFF = {"anyOf": [{"type": "boolean"}, {"type": "null"}], "not": {"const": True}}


def optional(schema: JsonObject) -> JsonObject:
    """Return the schema with null, which means absent throughout."""
    return {"anyOf": [schema, NOTHING]}


def or_empty(*schemas: JsonObject) -> JsonObject:
    """Return the schema of a text outside a body, where an empty one means absent."""
    return {"anyOf": [{"type": "string"} | schema for schema in (*schemas, {"maxLength": 0})]}


# The contents of structured_outputs; the same ones stand at the top under other names.
GUIDED: Schemas = {
    "json": OBJECT_OR_ITS_TEXT,
    "regex": PATTERN,
    "choice": CHOICE,
    "grammar": SOME_TEXT | {"maxLength": MAX_GRAMMAR_CHARS},
    "structural_tag": OBJECT_OR_ITS_TEXT,
    "whitespace_pattern": PATTERN,
}
VLLM_MEMBERS: Schemas = {
    "chat_template": {"type": "string"},
    "chat_template_kwargs": AN_OBJECT,
    "guided_choice": GUIDED["choice"],
    "guided_decoding_backend": {
        "type": "string",
        "pattern": f"^({'|'.join(sorted(BACKENDS))})(:.*)?$",
    },
    "guided_grammar": GUIDED["grammar"],
    "guided_json": GUIDED["json"],
    "guided_regex": GUIDED["regex"],
    "guided_whitespace_pattern": GUIDED["whitespace_pattern"],
    "mm_processor_kwargs": AN_OBJECT,
    "structural_tag": GUIDED["structural_tag"],
    "structured_outputs": {
        "type": "object",
        "description": "At most one constraint, here or at the top level.",
        "properties": {name: optional(schema) for name, schema in GUIDED.items()},
        "additionalProperties": False,
    },
}


def complete(schemas: Schemas) -> None:
    """Add the rules to the schemas of a request and of its parts."""
    _complete_request(schemas["ChatCompletionRequest"])
    _complete_embeddings(schemas["EmbeddingsRequest"])
    # Within allOf: beside the properties, generators of clients take it for a choice of types.
    schemas["AssistantMessage"]["allOf"] = [
        {
            "anyOf": [
                _given("content", {"type": ["string", "array"]}),
                _given("tool_calls", {"type": "array", "minItems": 1}),
                _given("function_call", AN_OBJECT),
                _given("refusal", SOME_TEXT),
                _given("audio", {"type": "object", "minProperties": 1}),
            ]
        }
    ]
    named = {"name": {"type": "string"}, "schema": AN_OBJECT}
    schemas["JsonSchema"]["allOf"] = [
        {
            "anyOf": [
                {"required": [*named], "properties": named},
                {
                    "properties": dict.fromkeys(named, NOTHING),
                    "anyOf": [{"required": [name]} for name in sorted(KEYWORDS)],
                },
            ]
        }
    ]
    schemas["Inferada"]["properties"]["processors"] = NO_PROCESSORS
    schemas["ImageUrl"]["properties"]["url"] |= ADDRESS
    for spelling in schemas["ImagePart"]["properties"]["image_url"]["anyOf"]:
        if spelling.get("type") == "string":
            spelling |= ADDRESS


def _complete_request(request: JsonObject) -> None:
    members = request["properties"]
    members |= {name: optional(schema) for name, schema in VLLM_MEMBERS.items()}
    for name in sorted(NOT_LOOKED_INTO):
        members.setdefault(name, {"description": "Passed on unchanged."})
    members["plugins"] = NONE_OF_THEM | {"description": "Not available."}
    members["models"]["description"] = "Fallback models in order. Replaces the model's own list."
    for spelling in members["stop"]["anyOf"]:
        if spelling.get("type") == "array":
            spelling["maxItems"] = settings.MAX_STOP_SEQUENCES
    members["tensorzero::episode_id"] = optional(UUID)
    _restrict_names(request, KNOWN)
    request["allOf"] = [
        _unless("top_logprobs", NOTHING, _given("logprobs", {"const": True})),
        _unless(
            "tool_choice",
            {"not": {"enum": ["any", "required"]}},
            _given("tools", {"type": "array", "minItems": 1}),
        ),
        _unless_denied(KNOWN),
    ]


def _complete_embeddings(request: JsonObject) -> None:
    members = request["properties"]
    members["models"]["description"] = "Fallback models in order. Replaces the model's own list."
    members["tensorzero::episode_id"] = optional(UUID)
    text, many = members["input"]["anyOf"]
    kinds = many["items"]["anyOf"]
    limits = (embeddings.MAX_INPUTS, embeddings.MAX_TOKEN_IDS, embeddings.MAX_INPUTS)
    lists = [
        many | {"items": kind, "maxItems": limit} for kind, limit in zip(kinds, limits, strict=True)
    ]
    members["input"] = {"anyOf": [text, *lists]}
    members |= {
        name: OFF | {"description": "Not available."} for name in sorted(embeddings.NOT_HERE)
    }
    known = embeddings.KNOWN | embeddings.NOT_HERE
    _restrict_names(request, known)
    request["allOf"] = [_unless_denied(known)]


def _restrict_names(request: JsonObject, known: Iterable[str]) -> None:
    request["additionalProperties"] = True
    request["propertyNames"] = {
        "anyOf": [
            {"enum": sorted(known)},
            {
                "maxLength": MAX_NAME_CHARS,
                "not": {"anyOf": [{"pattern": steering_pattern()}, {"pattern": "^tensorzero::"}]},
            },
        ]
    }


def _unless_denied(known: Iterable[str]) -> JsonObject:
    return _unless(
        "tensorzero::deny_unknown_fields",
        {"enum": [None, False]},
        {"propertyNames": {"enum": sorted(known)}},
    )


def _given(name: str, schema: JsonObject) -> JsonObject:
    return {"required": [name], "properties": {name: schema}}


def _unless(name: str, schema: JsonObject, other: JsonObject) -> JsonObject:
    """Return what holds when the member is absent or fits the schema, or else the other does."""
    return {"anyOf": [{"properties": {name: schema}}, other]}
