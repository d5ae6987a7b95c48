"""POST /messages in the OpenAPI document."""

from __future__ import annotations

from functools import partial

from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.describe import VLLM_MEMBERS
from gateway.endpoints.chat_completions.processor_options import inferada_type
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import complete_common, optional, reference
from gateway.endpoints.messages.answer_schema import (
    AnthropicMessage,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
)
from gateway.endpoints.messages.schema import (
    FOR_ANTHROPIC,
    GUIDED,
    KNOWN,
    LEFT_OUT,
    MCP_SERVERS,
    READ,
    REFUSED,
    MessagesRequest,
)
from gateway.endpoints.plugin_schema import describe_plugins
from gateway.endpoints.rules import Rules

HELLO: JsonObject = {
    "model": "tollhouse/simulated",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Say hello."}],
}
EVENTS = (
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Ping,
)


def describe(rules: Rules) -> EndpointDescription:
    return EndpointDescription(
        operation_id="createMessage",
        summary="Create a message in Anthropic's format",
        answer="The message. With stream: true, a stream of events.",
        request=MessagesRequest,
        parts=(inferada_type(),),
        response=AnthropicMessage,
        events=EVENTS,
        examples={"buffered": HELLO, "streamed": HELLO | {"stream": True}},
        complete=partial(complete, rules),
    )


def complete(rules: Rules, schemas: Schemas) -> None:
    request = schemas[MessagesRequest.__name__]
    members = request["properties"]
    for spelling in members["stop_sequences"]["anyOf"]:
        if spelling.get("type") == "array":
            spelling["maxItems"] = rules.stop_sequences
    for name in sorted(FOR_ANTHROPIC - READ):
        members[name] = {"description": "For Anthropic's models only."}
    members |= {name: optional(VLLM_MEMBERS[name]) for name in sorted(GUIDED)}
    for name in sorted(LEFT_OUT):
        members[name] = {"description": "Not passed on."}
    for name in sorted(REFUSED):
        members[name] = {"type": "null", "description": "Not supported."}
    none: JsonObject = optional({"type": "array", "items": {}, "maxItems": 0})
    members[MCP_SERVERS] = none | {"description": "Not supported."}
    members["inferada"] = optional(reference(inferada_type()))
    members["plugins"] = describe_plugins()
    complete_common(request, KNOWN)
