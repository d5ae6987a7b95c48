"""What POST /responses answers, as types: they encode the answers, and the OpenAPI document is made
from them. A member that is UNSET is left out.

Reference: https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.core.processing import ProcessorSummary
from gateway.endpoints.chat_completions.response_schema import COSTS, Fallback, HiToolEvent

ResponseStatus = Literal["in_progress", "completed", "incomplete", "failed"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputTextPart(Struct, tag_field="type", tag="output_text", kw_only=True):
    text: str
    annotations: list[JsonObject]
    logprobs: list[JsonObject]


class RefusalOutputPart(Struct, tag_field="type", tag="refusal"):
    refusal: str


class SummaryPart(Struct, tag_field="type", tag="summary_text"):
    text: str


class OutputMessage(Struct, tag_field="type", tag="message", kw_only=True):
    id: str
    role: Literal["assistant"] = "assistant"
    status: ItemStatus
    content: list[OutputTextPart | RefusalOutputPart]


class OutputReasoning(Struct, tag_field="type", tag="reasoning", kw_only=True):
    id: str
    summary: list[SummaryPart]
    encrypted_content: (
        Annotated[
            str,
            Meta(
                description="Opaque. Send it back unchanged with the item, so that the"
                " provider can read its own reasoning."
            ),
        ]
        | UnsetType
    ) = UNSET
    status: ItemStatus | UnsetType = UNSET


class OutputFunctionCall(Struct, tag_field="type", tag="function_call", kw_only=True):
    id: str
    call_id: str
    name: str
    arguments: str
    status: ItemStatus
    namespace: str | UnsetType = UNSET


class OutputCustomToolCall(Struct, tag_field="type", tag="custom_tool_call", kw_only=True):
    id: str
    call_id: str
    name: str
    input: str
    status: ItemStatus


class OutputImageCall(Struct, tag_field="type", tag="image_generation_call", kw_only=True):
    """A picture that the tool image has made."""

    id: str
    status: Literal["in_progress", "completed"]
    result: Annotated[str, Meta(description="Base64. Empty where there is a URL.")] | None
    url: str | UnsetType = UNSET


OutputItem = (
    OutputMessage | OutputReasoning | OutputFunctionCall | OutputCustomToolCall | OutputImageCall
)


class ResponseInputDetails(Struct):
    cached_tokens: int
    cache_write_tokens: Annotated[int, Meta(description="Written to the provider's cache.")] = 0


class ResponseOutputDetails(Struct):
    reasoning_tokens: int


class ResponseUsage(Struct, kw_only=True):
    """Token counts as OpenAI defines them, and the cost."""

    input_tokens: Annotated[int, Meta(description="Includes cached tokens.")]
    input_tokens_details: ResponseInputDetails
    output_tokens: Annotated[int, Meta(description="Includes reasoning tokens.")]
    output_tokens_details: ResponseOutputDetails
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


class IncompleteDetails(Struct):
    reason: Literal["max_output_tokens", "content_filter"]


class ResponseFailure(Struct):
    code: str
    message: str


class ResponseObject(Struct, kw_only=True):
    """A response. It repeats the settings of its request."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: ResponseStatus
    error: ResponseFailure | None = None
    incomplete_details: IncompleteDetails | None = None
    model: str
    output: list[OutputItem]
    usage: ResponseUsage | None = None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    reasoning: JsonObject
    safety_identifier: str | None
    service_tier: str | None
    store: Annotated[
        bool,
        Meta(description="The response is stored: it can be read and continued by its ID."),
    ]
    temperature: float | None
    text: JsonObject
    tool_choice: str | JsonObject
    tools: list[JsonObject]
    top_logprobs: int | None
    top_p: float | None
    truncation: str
    user: str | None
    background: bool = False
    credits_used: float | UnsetType = UNSET
    fallback: Fallback | UnsetType = UNSET
    inferada: ProcessorSummary | UnsetType = UNSET
    hi_tool_events: list[HiToolEvent] | UnsetType = UNSET
    tool_costs_micro_usd: Annotated[dict[str, str], Meta(description=COSTS)] | UnsetType = UNSET
    episode_id: str | UnsetType = UNSET


class ResponseEvent(Struct, kw_only=True):
    """One `data:` event of a stream, after a line with its type as `event:`. Events have further
    members by their type. The last is response.completed, response.incomplete or
    response.failed."""

    type: str
    sequence_number: int
    response: ResponseObject | UnsetType = UNSET
    # Of keepalive.
    hi_tool_event: HiToolEvent | UnsetType = UNSET
