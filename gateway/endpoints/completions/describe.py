"""POST /completions in the OpenAPI document."""

from __future__ import annotations

from gateway.core.json_types import JsonObject
from gateway.endpoints.completions.schema import (
    MAX_PROMPTS,
    CompletionRequest,
    TextCompletion,
    TextCompletionChunk,
    reader,
)
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.inputs import limit_lists
from gateway.endpoints.json_schema import complete_plain, given, unless
from gateway.endpoints.rules import Rules

ONCE: JsonObject = {"model": "tollhouse/simulated", "prompt": "Once upon a time", "max_tokens": 16}


def describe(rules: Rules) -> EndpointDescription:
    def complete(schemas: Schemas) -> None:
        request = schemas[CompletionRequest.__name__]
        members = request["properties"]
        members["prompt"] = limit_lists(members["prompt"], MAX_PROMPTS)
        members["best_of"]["description"] = "At least n."
        for spelling in members["stop"]["anyOf"]:
            if spelling.get("type") == "array":
                spelling["maxItems"] = rules.stop_sequences
        complete_plain(request, reader.known, reader.not_here)
        echoes = given("echo", {"const": True})
        streams_not = {"properties": {"stream": {"enum": [None, False]}}}
        request["allOf"] += [
            unless("max_tokens", {"not": {"const": 0}}, echoes),
            unless("echo", {"enum": [None, False]}, streams_not),
        ]

    return EndpointDescription(
        operation_id="createCompletion",
        summary="Create a text completion",
        answer="The completion. With stream: true, a stream of chunks.",
        request=CompletionRequest,
        response=TextCompletion,
        events=(TextCompletionChunk,),
        examples={"buffered": ONCE, "streamed": ONCE | {"stream": True}},
        complete=complete,
    )
