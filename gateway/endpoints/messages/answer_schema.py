"""What POST /messages answers, as types: they encode the answers, and the OpenAPI document is made
from them. A member that is UNSET is left out.

Reference: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.core.processing import ProcessorSummary
from gateway.endpoints.chat_completions.response_schema import COSTS, Fallback, HiToolEvent, Timings

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "refusal",
    "model_context_window_exceeded",
]


# Of citations that the gateway has made: those of providers have more.
OWN_INDEX = ""


class OutputTokensDetails(Struct):
    thinking_tokens: int


class CacheCreation(Struct):
    """What was written to a cache, by how long it is kept."""

    ephemeral_5m_input_tokens: int
    ephemeral_1h_input_tokens: int


class MessageUsage(Struct, kw_only=True):
    """Token counts as Anthropic defines them, and the cost."""

    input_tokens: Annotated[int, Meta(description="Neither read from a cache nor written to one.")]
    cache_creation_input_tokens: int = 0
    cache_creation: (
        Annotated[CacheCreation, Meta(description="Present where something was written.")]
        | UnsetType
    ) = UNSET
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    output_tokens_details: OutputTokensDetails | UnsetType = UNSET
    cost: Annotated[float, Meta(description="USD.")] | UnsetType = UNSET


class CitedPage(Struct, tag_field="type", tag="web_search_result_location", kw_only=True):
    """A page that the model was given by a tool of the gateway."""

    url: str
    title: str
    cited_text: str = ""
    encrypted_index: Annotated[
        str, Meta(description="Empty: providers have no search result of that kind.")
    ] = OWN_INDEX


class SaidText(Struct, tag_field="type", tag="text"):
    text: str
    citations: list[CitedPage] | UnsetType = UNSET


class SaidThinking(Struct, tag_field="type", tag="thinking"):
    thinking: str
    signature: Annotated[
        str, Meta(description="Send it back unchanged. Empty if the provider signs nothing.")
    ]


class SaidRedactedThinking(Struct, tag_field="type", tag="redacted_thinking"):
    data: Annotated[str, Meta(description="Send it back unchanged.")]


class SaidToolUse(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: JsonObject


SaidBlock = SaidText | SaidThinking | SaidRedactedThinking | SaidToolUse


class AnthropicMessage(Struct, kw_only=True):
    """A buffered response, or what is known of one when its stream begins."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[SaidBlock]
    stop_reason: StopReason | None
    stop_sequence: str | None
    usage: MessageUsage
    timings: Timings | UnsetType = UNSET
    credits_used: float | UnsetType = UNSET
    episode_id: str | UnsetType = UNSET
    inferada: ProcessorSummary | UnsetType = UNSET
    hi_tool_events: list[HiToolEvent] | UnsetType = UNSET
    tool_costs_micro_usd: Annotated[dict[str, str], Meta(description=COSTS)] | UnsetType = UNSET


class MessageStart(Struct, tag_field="type", tag="message_start"):
    message: AnthropicMessage


class ContentBlockStart(Struct, tag_field="type", tag="content_block_start"):
    index: int
    content_block: SaidBlock


class TextDelta(Struct, tag_field="type", tag="text_delta"):
    text: str


class ThinkingDelta(Struct, tag_field="type", tag="thinking_delta"):
    thinking: str


class SignatureDelta(Struct, tag_field="type", tag="signature_delta"):
    signature: str


class InputJsonDelta(Struct, tag_field="type", tag="input_json_delta"):
    partial_json: str


class CitationsDelta(Struct, tag_field="type", tag="citations_delta"):
    citation: CitedPage


class ContentBlockDelta(Struct, tag_field="type", tag="content_block_delta"):
    index: int
    delta: TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta | CitationsDelta


class ContentBlockStop(Struct, tag_field="type", tag="content_block_stop"):
    index: int


class StopDelta(Struct):
    stop_reason: StopReason | None
    stop_sequence: str | None


class MessageDelta(Struct, tag_field="type", tag="message_delta", kw_only=True):
    delta: StopDelta
    usage: Annotated[MessageUsage, Meta(description="Of the whole message.")]
    credits_used: float | UnsetType = UNSET
    fallback: Fallback | UnsetType = UNSET
    inferada: ProcessorSummary | UnsetType = UNSET
    hi_tool_events: list[HiToolEvent] | UnsetType = UNSET
    tool_costs_micro_usd: Annotated[dict[str, str], Meta(description=COSTS)] | UnsetType = UNSET


class MessageStop(Struct, tag_field="type", tag="message_stop"):
    """The last event."""


class Ping(Struct, tag_field="type", tag="ping"):
    """Comes at any time. SDKs pass over it, and over the tool event that it may have."""

    hi_tool_event: HiToolEvent | UnsetType = UNSET
