"""What the API answers with, as types: the source of the OpenAPI document's responses.

Tests hold live answers against them, so a member that is missing here is found.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

AnyObject = dict[str, Any]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class PromptDetails(Struct):
    cached_tokens: int


class CompletionDetails(Struct):
    reasoning_tokens: int


class UsageShape(Struct):
    """Token counts as OpenAI means them; cost in USD."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails
    cost: float


class Timings(Struct):
    """Milliseconds; upstream, queued, failed and gateway add up to total. Parts that are 0 are
    absent. failed_ms: attempts at providers that did not serve."""

    total_ms: int
    upstream_ms: int
    tokens_per_second: float | None = None
    processors_ms: int | None = None
    queued_ms: int | None = None
    failed_ms: int | None = None
    gateway_ms: int | None = None


class AnswerMessage(Struct):
    role: Literal["assistant"]
    content: str | None
    tool_calls: list[AnyObject] | None = None
    function_call: AnyObject | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    annotations: list[AnyObject] | None = None
    audio: AnyObject | None = None


class AnswerChoice(Struct):
    index: int
    message: AnswerMessage
    finish_reason: FinishReason
    logprobs: AnyObject | None


class ChatCompletion(Struct):
    """A buffered answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    episode_id: str
    choices: list[AnswerChoice]
    usage: UsageShape
    timings: Timings
    credits_used: float
    system_fingerprint: str | None
    service_tier: str | None = None


class ChunkChoice(Struct):
    index: int
    delta: AnyObject
    finish_reason: FinishReason | None
    logprobs: AnyObject | None = None


class ErrorBody(Struct):
    """message: for people. code: stable, see the list of codes; the status where the profile is
    bud. param: what is at fault."""

    message: str
    type: str
    code: str | int
    param: str | None
    request_id: str
    details: AnyObject | None = None


class ErrorShape(Struct):
    error: ErrorBody


class FallbackShape(Struct, rename={"model": "from"}):
    """from: the model that was meant. depth: 1 is the first to fall back to."""

    model: str
    depth: int


class ChatCompletionChunk(Struct):
    """One `data:` event of a stream. The stream ends with `data: [DONE]`."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    episode_id: str
    choices: list[ChunkChoice]
    usage: UsageShape | None = None
    credits_used: float | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    fallback: FallbackShape | None = None


class Pricing(Struct):
    """USD."""

    prompt: float
    completion: float
    cached_prompt: float
    unit: Literal["per_million_tokens"]


class ModelShape(Struct):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    display_name: str
    description: str
    context_length: int | None
    max_output_tokens: int
    pricing: Pricing
    supportsVision: bool  # noqa: N815 (a product's own spelling)
    supportsPdf: bool  # noqa: N815
    supportsTools: bool  # noqa: N815
    supportsAudio: bool  # noqa: N815
    supported_features: list[str]
    datacenter_locations: list[str]
    is_local: bool


class ModelListShape(Struct):
    """has_more: whether there are models behind the page, where a limit was given."""

    object: Literal["list"]
    data: list[ModelShape]
    has_more: bool | None = None


class GenerationTimings(Struct):
    total_ms: float
    admit_ms: float
    queued_ms: float
    failed_ms: float
    upstream_ms: float
    gateway_ms: float


class GenerationShape(Struct):
    """The record of one call. total_cost in USD; cost_micro_usd and cost_nano_usd exact.

    tool_costs_micro_usd: what of the cost is not for tokens; pdf: for pages of PDFs that were made
    into pictures.
    """

    id: str
    model: str
    ingress_format: Literal["chat_completions"]
    source: Literal["api"]
    tokens_prompt: int
    tokens_completion: int
    tokens_reasoning: int
    tokens_cached_prompt: int
    total_cost: float
    cost_micro_usd: str
    cost_nano_usd: str
    tool_costs_micro_usd: AnyObject
    latency_ms: int
    status: Literal["ok", "error", "aborted", "in_progress"]
    error_code: str | None
    created_at: str
    charge_basis: str | None
    state: str
    provider_name: str | None
    native_model: str | None
    streamed: bool
    finish_reason: str | None
    native_finish_reason: str | None
    num_tool_calls: int
    ttft_ms: int | None
    generation_time_ms: int
    queued_ms: int
    processors_ms: int
    credits_used: float
    absorbed_cost: float
    fallback_from: str | None
    fallback_depth: int
    attempts: list[AnyObject]
    function_name: str | None
    variant_name: str | None
    user: str | None
    api_key_id: str
    client_request_id: str | None
    usage_estimated: bool
    episode_id: str | None
    compat_profile: str | None
    dropped_params: list[str]
    timings: GenerationTimings


class GenerationAnswer(Struct):
    data: GenerationShape


class UsageGroup(Struct):
    """One group of the report, or its total, which has no names."""

    calls: int
    failed: int
    refused: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: float
    cost_nano_usd: Annotated[str, Meta(pattern=r"^\d+$")]
    credits_used: float
    model: str | None = None
    key: str | None = None
    day: str | None = None
    member: str | None = None


class UsageShapeReport(Struct):
    """of: whose usage it is, the key's own or the whole workspace's."""

    start: str
    end: str
    of: Literal["key", "workspace"]
    group_by: list[str]
    groups: list[UsageGroup]
    total: UsageGroup


class UsageAnswer(Struct):
    data: UsageShapeReport


class HealthShape(Struct):
    status: Literal["ok"]


class StatusShape(Struct):
    """problem: why no calls are admitted; null while they are. ledger_checked_at: when `prove` last
    ran; ledger_breaks: how many breaks it found. journal_faults: how many parts of journals could
    not be posted as they should be (`manage.py prove` lists them)."""

    status: Literal["ok", "unavailable"]
    problem: str | None
    version: str
    models: int
    ledger_checked_at: str | None
    ledger_breaks: int | None
    journal_faults: int


ALL = (
    ChatCompletion,
    ChatCompletionChunk,
    ErrorShape,
    GenerationAnswer,
    HealthShape,
    ModelListShape,
    ModelShape,
    StatusShape,
    UsageAnswer,
)
