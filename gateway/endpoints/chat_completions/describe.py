"""POST /chat/completions in the OpenAPI document."""

from __future__ import annotations

from functools import partial

from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.guided_decoding import (
    BACKENDS,
    MAX_GRAMMAR_CHARS,
    MAX_PATTERN_CHARS,
)
from gateway.endpoints.chat_completions.processor_options import inferada_type
from gateway.endpoints.chat_completions.response_format import KEYWORDS
from gateway.endpoints.chat_completions.response_schema import ChatCompletion, ChatCompletionChunk
from gateway.endpoints.chat_completions.schema import (
    KNOWN,
    NOT_LOOKED_INTO,
    ChatCompletionRequest,
)
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import (
    ADDRESS,
    AN_OBJECT,
    NOTHING,
    SOME_TEXT,
    complete_common,
    given,
    optional,
    reference,
    unless,
)
from gateway.endpoints.plugin_schema import describe_plugins
from gateway.endpoints.rules import Rules
from gateway.processors.registry import PROCESSORS

PATTERN: JsonObject = SOME_TEXT | {"maxLength": MAX_PATTERN_CHARS}
CHOICE: JsonObject = {"type": "array", "items": {"type": "string"}, "minItems": 1}
ITS_TEXT: JsonObject = {
    "type": "string",
    "pattern": r"^[ \t\r\n]*\{",
    "contentMediaType": "application/json",
}
OBJECT_OR_ITS_TEXT: JsonObject = {"anyOf": [AN_OBJECT, ITS_TEXT]}
NONE_OF_THEM: JsonObject = {"anyOf": [{"type": "array", "items": {}, "maxItems": 0}, NOTHING]}
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
HELLO: JsonObject = {
    "model": "tollhouse/simulated",
    "messages": [{"role": "user", "content": "Say hello."}],
}


def describe(rules: Rules) -> EndpointDescription:
    return EndpointDescription(
        operation_id="createChatCompletion",
        summary="Create a chat completion",
        answer="The completion. With stream: true, a stream of chunks.",
        request=ChatCompletionRequest,
        parts=(inferada_type(),),
        response=ChatCompletion,
        events=(ChatCompletionChunk,),
        examples={"buffered": HELLO, "streamed": HELLO | {"stream": True}},
        complete=partial(complete, rules),
    )


def complete(rules: Rules, schemas: Schemas) -> None:
    _complete_request(schemas[ChatCompletionRequest.__name__], rules)
    # Within allOf: beside the properties, generators of clients take it for a choice of types.
    schemas["AssistantMessage"]["allOf"] = [
        {
            "anyOf": [
                given("content", {"type": ["string", "array"], "minItems": 1}),
                given("tool_calls", {"type": "array", "minItems": 1}),
                given("function_call", AN_OBJECT),
                given("refusal", SOME_TEXT),
                given("audio", {"type": "object", "minProperties": 1}),
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
    schemas["Inferada"]["properties"]["processors"] = _processors()
    schemas["ImageUrl"]["properties"]["url"] |= ADDRESS
    for spelling in schemas["ImagePart"]["properties"]["image_url"]["anyOf"]:
        if spelling.get("type") == "string":
            spelling |= ADDRESS


def _complete_request(request: JsonObject, rules: Rules) -> None:
    members = request["properties"]
    members |= {name: optional(schema) for name, schema in VLLM_MEMBERS.items()}
    for name in sorted(NOT_LOOKED_INTO):
        members.setdefault(name, {"description": "Passed on unchanged."})
    members["plugins"] = describe_plugins()
    members["inferada"] = optional(reference(inferada_type()))
    for spelling in members["stop"]["anyOf"]:
        if spelling.get("type") == "array":
            spelling["maxItems"] = rules.stop_sequences
    complete_common(request, KNOWN)
    request["allOf"] += [
        unless("top_logprobs", NOTHING, given("logprobs", {"const": True})),
        unless(
            "tool_choice",
            {"not": {"enum": ["any", "required"]}},
            given("tools", {"type": "array", "minItems": 1}),
        ),
    ]


def _processors() -> JsonObject:
    if not PROCESSORS:
        return NONE_OF_THEM | {"description": "No processors are available."}
    return optional({"type": "array", "items": {"enum": sorted(PROCESSORS)}})
