"""The request and the responses of POST /completions, as types.

Reference: https://platform.openai.com/docs/api-reference/completions
null means absent throughout, so every optional member defaults to None.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.core.parameters import MOST_STOP_SEQUENCES
from gateway.endpoints.chat_completions.response_schema import (
    CompletionUsage,
    Fallback,
    FinishReason,
    Timings,
)
from gateway.endpoints.chat_completions.schema import Penalty, Stop, StreamOptions, TokenId
from gateway.endpoints.inputs import MAX_TOKEN_IDS, OTHER_ITEMS, Inputs
from gateway.endpoints.plain import OF_CHAT, PlainReader, PlainRequest

MAX_PROMPTS = 256
MAX_COMPLETIONS = 128


class CompletionRequest(PlainRequest, kw_only=True):
    """POST /completions. prompt: one text, one list of token IDs, or a list of either."""

    prompt: Inputs
    suffix: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: float | None = None
    n: Annotated[int, Meta(ge=1, le=MAX_COMPLETIONS)] | None = None
    best_of: Annotated[int, Meta(ge=1, le=MAX_COMPLETIONS)] | None = None
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    echo: bool | None = None
    stop: Stop | Annotated[list[Stop], Meta(max_length=MOST_STOP_SEQUENCES)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    repetition_penalty: float | None = None
    ignore_eos: bool | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    logit_bias: (
        Annotated[dict[TokenId, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=1024)]
        | None
    ) = None


reader = PlainReader(
    CompletionRequest,
    what="Text completions",
    not_here=OF_CHAT,
    max_items=MAX_TOKEN_IDS + OTHER_ITEMS,
)


class TextChoice(Struct):
    """reasoning: of models that reason, beside the text."""

    index: int
    text: str
    logprobs: JsonObject | None
    finish_reason: FinishReason | None
    reasoning: str | UnsetType = UNSET


class TextCompletion(Struct, kw_only=True):
    """A buffered response."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    system_fingerprint: str | UnsetType = UNSET
    usage: CompletionUsage
    timings: Timings
    credits_used: float
    episode_id: str | UnsetType = UNSET


class TextCompletionChunk(Struct, kw_only=True):
    """One `data:` event of a stream. The stream ends with `data: [DONE]`."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    episode_id: str | UnsetType = UNSET
    choices: list[TextChoice]
    system_fingerprint: str | UnsetType = UNSET
    usage: CompletionUsage | UnsetType | None = UNSET
    credits_used: float | UnsetType = UNSET
    fallback: Fallback | UnsetType = UNSET
