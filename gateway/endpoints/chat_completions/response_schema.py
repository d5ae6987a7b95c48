"""What POST /chat/completions answers, as types: they encode the answers, and the OpenAPI document
is made from them. A member that is UNSET is left out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.events import FINISH_REASONS
from gateway.core.json_types import JsonObject
from gateway.core.processing import ProcessorSummary
from gateway.core.reasoning import AnyDetail

FinishReason = Annotated[str, Meta(extra_json_schema={"enum": sorted(FINISH_REASONS)})]


class PromptTokensDetails(Struct):
    cached_tokens: int
    cache_write_tokens: (
        Annotated[int, Meta(description="Written to the provider's cache.")] | UnsetType
    ) = UNSET


class CompletionTokensDetails(Struct):
    reasoning_tokens: int


class CompletionUsage(Struct, kw_only=True):
    """Token counts as OpenAI defines them, and the cost."""

    prompt_tokens: Annotated[int, Meta(description="Includes cached tokens.")]
    completion_tokens: Annotated[int, Meta(description="Includes reasoning tokens.")]
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails
    cost: Annotated[float, Meta(description="USD.")]


class Timings(Struct, kw_only=True):
    """Milliseconds. The parts add up to total_ms; parts that are 0 are left out."""

    total_ms: int
    upstream_ms: Annotated[int, Meta(description="The provider that served the call.")]
    tokens_per_second: float | UnsetType = UNSET
    processors_ms: Annotated[int, Meta(description="Where some ran.")] | UnsetType = UNSET
    queued_ms: int | UnsetType = UNSET
    failed_ms: Annotated[int, Meta(description="Attempts that failed.")] | UnsetType = UNSET
    tools_ms: Annotated[int, Meta(description="Server tools.")] | UnsetType = UNSET
    gateway_ms: int | UnsetType = UNSET


class AnswerMessage(Struct, kw_only=True):
    """Providers may send further members, which are passed on."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: list[JsonObject] | UnsetType = UNSET
    function_call: JsonObject | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    reasoning_details: (
        Annotated[
            list[AnyDetail],
            Meta(description="Signed and encrypted reasoning, to be sent back unchanged."),
        ]
        | UnsetType
    ) = UNSET
    refusal: str | UnsetType = UNSET
    annotations: (
        Annotated[list[JsonObject], Meta(description="Citations of pages, as url_citation.")]
        | UnsetType
    ) = UNSET
    images: (
        Annotated[list[JsonObject], Meta(description="Images that a plugin generated.")] | UnsetType
    ) = UNSET
    audio: JsonObject | UnsetType = UNSET


class AnswerChoice(Struct):
    index: int
    message: AnswerMessage
    finish_reason: FinishReason
    logprobs: JsonObject | None


COSTS = "Cost of each server tool in micro-USD. Part of usage.cost."


class HiToolEvent(Struct, kw_only=True):
    """A plugin has begun to run, or has run. Of its beginning there are the arguments, of its end
    the rest."""

    type: Literal["tool_start", "tool_result", "tool_error"]
    plugin: str
    function: Annotated[str, Meta(description="As the model knows the tool.")]
    call_id: str
    seq: Annotated[int, Meta(description="Position among the events of the call.")]
    arguments: JsonObject | UnsetType = UNSET
    preview: Annotated[str, Meta(description="First characters of the result.")] | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET
    cost_micro_usd: str | UnsetType = UNSET


class ChatCompletion(Struct, kw_only=True):
    """A buffered response."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[AnswerChoice]
    system_fingerprint: str | None
    service_tier: str | UnsetType = UNSET
    usage: CompletionUsage
    timings: Timings
    credits_used: float
    episode_id: str | UnsetType = UNSET
    inferada: ProcessorSummary | UnsetType = UNSET
    hi_tool_events: list[HiToolEvent] | UnsetType = UNSET
    tool_costs_micro_usd: Annotated[dict[str, str], Meta(description=COSTS)] | UnsetType = UNSET


class ChunkChoice(Struct):
    index: int
    delta: JsonObject
    finish_reason: FinishReason | None
    logprobs: JsonObject | UnsetType = UNSET


class Fallback(Struct, rename={"model": "from"}):
    """A fallback model answered."""

    model: Annotated[str, Meta(description="The model that was requested.")]
    depth: Annotated[int, Meta(description="1 is the first fallback model.")]


class ChunkHead(Struct):
    """What all chunks of a stream have in common."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    episode_id: str | UnsetType = UNSET


class ChatCompletionChunk(ChunkHead, kw_only=True):
    """One `data:` event of a stream. The stream ends with `data: [DONE]`."""

    choices: list[ChunkChoice]
    system_fingerprint: str | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    usage: CompletionUsage | UnsetType | None = UNSET
    credits_used: float | UnsetType = UNSET
    fallback: Fallback | UnsetType = UNSET
    inferada: ProcessorSummary | UnsetType = UNSET
    hi_tool_event: HiToolEvent | UnsetType = UNSET
    tool_costs_micro_usd: Annotated[dict[str, str], Meta(description=COSTS)] | UnsetType = UNSET
