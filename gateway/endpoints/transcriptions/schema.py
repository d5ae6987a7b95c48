"""The requests and the responses of POST /audio/transcriptions and /audio/translations, as types.

Reference: https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.endpoints.form_reading import FormRules, UploadedFile
from gateway.endpoints.plain import OF_CHAT, PlainReader, PlainRequest
from gateway.endpoints.reading import END

MAX_PROMPT_CHARS = 100_000
MAX_ITEMS = 100
Language = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}" + END)]
Prompt = Annotated[str, Meta(max_length=MAX_PROMPT_CHARS)]
Words = Annotated[list[str], Meta(max_length=MAX_ITEMS)]
Temperature = Annotated[float, Meta(ge=0, le=2)]


class TranslationRequest(PlainRequest, kw_only=True):
    """POST /audio/translations."""

    file: UploadedFile
    prompt: Prompt | None = None
    response_format: Literal["json", "text", "srt", "verbose_json", "vtt"] | None = None
    temperature: Temperature | None = None


class TranscriptionRequest(PlainRequest, kw_only=True):
    """POST /audio/transcriptions."""

    file: UploadedFile
    chunking_strategy: Literal["auto"] | JsonObject | None = None
    include: Words | None = None
    keywords: Words | None = None
    known_speaker_names: Words | None = None
    # Recordings as data: URLs.
    known_speaker_references: Words | None = None
    language: Language | None = None
    languages: Annotated[list[Language], Meta(max_length=MAX_ITEMS)] | None = None
    prompt: Prompt | None = None
    response_format: (
        Literal["json", "text", "srt", "verbose_json", "vtt", "diarized_json"] | None
    ) = None
    stream: bool | None = None
    temperature: Temperature | None = None
    timestamp_granularities: (
        Annotated[list[Literal["word", "segment"]], Meta(max_length=2)] | None
    ) = None


transcriptions = PlainReader(
    TranscriptionRequest,
    what="Transcriptions",
    not_here=OF_CHAT | {"stream_options"},
    words="1 to 64 letters, digits, underscores or hyphens, such as en",
)
translations = PlainReader(
    TranslationRequest, what="Translations", not_here=OF_CHAT | {"stream", "stream_options"}
)
RULES = FormRules(
    lists=frozenset(
        {
            *("include", "keywords", "known_speaker_names", "known_speaker_references"),
            *("languages", "models", "timestamp_granularities"),
        }
    ),
    json=frozenset(
        {
            *("chunking_strategy", "stream", "temperature", "tensorzero::deny_unknown_fields"),
            *OF_CHAT,
            "stream_options",
        }
    ),
)


class TokenUsage(Struct, tag_field="type", tag="tokens"):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


class DurationUsage(Struct, tag_field="type", tag="duration"):
    seconds: float
    cost: Annotated[float, Meta(description="USD.")]


class TranscriptionResponse(Struct, kw_only=True):
    """What else the provider says stands beside: segments, words, logprobs."""

    text: str
    model: str
    language: Annotated[
        str | None, Meta(description="As the provider reports it. null: it reports none.")
    ]
    duration: float | UnsetType = UNSET
    usage: TokenUsage | DurationUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET


class TranscriptDelta(
    Struct, tag_field="type", tag="transcript.text.delta", kw_only=True, omit_defaults=True
):
    delta: str
    logprobs: list[JsonObject] | None = None
    segment_id: str | None = None


class TranscriptSegment(Struct, tag_field="type", tag="transcript.text.segment", kw_only=True):
    """A piece of one speaker's, for response_format diarized_json."""

    id: str
    start: float
    end: float
    speaker: str
    text: str


class TranscriptDone(Struct, tag_field="type", tag="transcript.text.done", kw_only=True):
    text: str
    logprobs: list[JsonObject] | UnsetType = UNSET
    usage: TokenUsage | DurationUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET


# The members of an answer that are written here, and the provider's name of the model.
OURS = frozenset({"text", "usage", "credits_used", "episode_id", "model"})
encode = msgspec.json.encode
