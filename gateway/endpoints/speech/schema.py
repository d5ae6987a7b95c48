"""The request and the events of POST /audio/speech, as types.

Reference: https://platform.openai.com/docs/api-reference/audio/createSpeech
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.endpoints.plain import OF_CHAT, OF_STREAMS, PlainReader, PlainRequest
from gateway.endpoints.reading import END

MAX_TEXT_CHARS = 100_000
DEFAULT_FORMAT = "mp3"
# By the name of the format. Raw samples have no type that says how they are to be read.
MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
    "mulaw": "audio/basic",
}
Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
VoiceName = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,256}" + END)]


class Voice(Struct):
    """A voice of one's own, at the provider."""

    id: VoiceName


class SpeechRequest(PlainRequest, kw_only=True):
    """POST /audio/speech. Which voices a model has is the provider's to say."""

    input: Text
    voice: VoiceName | Voice
    instructions: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] | None = None
    response_format: Literal["mp3", "opus", "ogg", "aac", "flac", "wav", "pcm", "mulaw"] | None = (
        None
    )
    speed: Annotated[float, Meta(ge=0.25, le=5.0)] | None = None
    stream_format: Literal["audio", "sse"] | None = None


reader = PlainReader(
    SpeechRequest,
    what="Speech requests",
    not_here=OF_CHAT | OF_STREAMS,
    words="1 to 256 characters, none of them a control character",
)


class SpeechUsage(Struct):
    """input_tokens, output_tokens: of models that are priced per token."""

    characters: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


class SpeechDelta(Struct, tag_field="type", tag="speech.audio.delta"):
    """audio: a piece of the file, in base64."""

    audio: str


class SpeechDone(Struct, tag_field="type", tag="speech.audio.done", kw_only=True):
    usage: SpeechUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET


class SpeechFile(Struct):
    """What an answer is, but for stream_format sse: bytes."""
