"""POST /responses in the OpenAPI document."""

from __future__ import annotations

from gateway.core.json_types import JsonObject
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import (
    ADDRESS,
    NOTHING,
    SOME_TEXT,
    complete_common,
    given,
    optional,
    reference,
    unless,
)
from gateway.endpoints.plugin_schema import describe_plugins, describe_tool
from gateway.endpoints.responses import schema
from gateway.endpoints.responses.read import UNAVAILABLE
from gateway.endpoints.responses.response_schema import ResponseEvent, ResponseObject
from gateway.endpoints.responses.server_tools import CONTEXT_SIZES, TYPES, WEB_SEARCH, name_of_type
from gateway.tools.registry import TOOLS

HELLO: JsonObject = {"model": "tollhouse/simulated", "input": "Say hello."}
MESSAGES = (
    schema.InputUserMessage,
    schema.InputSystemMessage,
    schema.InputDeveloperMessage,
    schema.InputAssistantMessage,
)
ITEMS = (
    schema.FunctionCallItem,
    schema.CustomToolCallItem,
    schema.FunctionCallOutput,
    schema.CustomToolCallOutput,
    schema.ReasoningItem,
    schema.ItemReference,
)
OPTIONS_OF_SEARCH: JsonObject = {
    "search_context_size": optional({"enum": [*CONTEXT_SIZES]}),
    "user_location": {"description": "Left out."},
    "external_web_access": {"description": "With false, the tool is left out."},
}
OWN_TOOLS = (schema.FunctionToolSpec, schema.CustomToolSpec)
CHOICES = (
    *(schema.FunctionChoice, schema.CustomChoice, schema.AllowedToolsChoice),
    schema.ServerToolChoice,
)
PARTS = (*MESSAGES, *ITEMS, *OWN_TOOLS, *CHOICES)


def describe() -> EndpointDescription:
    return EndpointDescription(
        operation_id="createResponse",
        summary="Create a response",
        answer="The response. With stream: true, a stream of events.",
        request=schema.ResponsesRequest,
        parts=PARTS,
        response=ResponseObject,
        events=(ResponseEvent,),
        examples={"buffered": HELLO, "streamed": HELLO | {"stream": True}},
        links={
            name: {"operationId": name, "parameters": {"response_id": "$response.body#/id"}}
            for name in ("getResponse", "deleteResponse", "listInputItems")
        },
        complete=complete,
    )


def server_tools() -> list[JsonObject]:
    """Return the schemas of the tools that the gateway runs."""
    found = []
    for name, tool in sorted(TOOLS.items()):
        kinds = sorted(kind for kind in TYPES if name_of_type(kind) == name)
        more = OPTIONS_OF_SEARCH if name == WEB_SEARCH else None
        found.append(describe_tool("type", {"enum": kinds}, tool.options, more))
    return found


def complete(schemas: Schemas) -> None:
    request = schemas[schema.ResponsesRequest.__name__]
    members = request["properties"]
    kinds = [reference(one) for one in (*MESSAGES, *ITEMS)]
    for spelling in members["input"]["anyOf"]:
        if spelling.get("type") == "array":
            spelling["items"] = {"anyOf": kinds}
    for spelling in members["tools"]["anyOf"]:
        if spelling.get("type") == "array":
            spelling["items"] = {"anyOf": [*(reference(one) for one in OWN_TOOLS), *server_tools()]}
    members["plugins"] = describe_plugins()
    words = {"enum": ["none", "auto", "required"]}
    choices = [reference(one) for one in CHOICES]
    members["tool_choice"] = optional({"anyOf": [words, *choices]})
    for name in UNAVAILABLE:
        members[name] = {"description": "Not available.", "enum": [None]}
    members["prompt_cache_retention"] = {"description": "Passed on unchanged."}
    complete_common(request, schema.KNOWN)
    request["propertyNames"]["allOf"] = [
        {"not": {"enum": sorted({*schema.ELSEWHERE, schema.ANSWERS})}}
    ]
    request["allOf"] += [
        {
            "anyOf": [
                given("input", {"type": "string"}),
                given("input", {"type": "array", "items": {}, "minItems": 1}),
                given("instructions", {"type": "string", "minLength": 1}),
                given("previous_response_id", {"type": "string"}),
            ]
        },
        unless(
            "tool_choice",
            {"anyOf": [{"enum": ["none", "auto"]}, NOTHING]},
            given("tools", {"type": "array", "minItems": 1}),
        ),
    ]
    choice = schemas[schema.ServerToolChoice.__name__]
    choice["properties"]["type"] = {"enum": sorted(TYPES)}
    image = schemas[schema.InputImage.__name__]
    image["allOf"] = [
        {"anyOf": [given("image_url", ADDRESS | SOME_TEXT), given("file_id", SOME_TEXT)]}
    ]
