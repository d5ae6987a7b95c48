"""Requests that make speech of texts and texts of speech, and their answers."""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.events import AnswerMeter
from gateway.core.json_types import JsonValue
from gateway.core.money import Usage

MS_PER_S = 1_000
# Speech below 8 kbit/s is not understood: a second of it has so many bytes at least.
LEAST_BYTES_PER_S = 1_000
# What is usual: 128 kbit/s.
USUAL_BYTES_PER_S = 16_000
# Of all providers' models, the most that a second of sound is.
MOST_TOKENS_PER_S = 32
# A minute of speech is so many tokens: https://platform.openai.com/docs/pricing has both prices of
# gpt-4o-mini-tts.
SPOKEN_TOKENS_PER_MINUTE = 1_250
# What a second of speech is in bytes, by the type of the file.
SPOKEN_BYTES_PER_S = {
    "audio/mpeg": 16_000,
    "audio/ogg": 8_000,
    "audio/aac": 16_000,
    "audio/flac": 32_000,
    "audio/wav": 48_000,
    "audio/pcm": 48_000,
    "audio/basic": 8_000,
}


class SpeechRequest(Payload, frozen=True, kw_only=True):
    """What a request for speech asks for."""

    operation = "speech"

    text: str
    instructions: str = ""
    # The file's type, as the caller wants it or by default.
    media_type: str
    # The caller gets events with the sound in base64, in the place of the file.
    has_events: bool = False
    prompt_tokens_bound: int = 0

    @property
    def answer_type(self) -> str:
        return "" if self.has_events else self.media_type

    @property
    def bytes_per_token(self) -> int:
        return SPOKEN_BYTES_PER_S[self.media_type] * 60 // SPOKEN_TOKENS_PER_MINUTE


SpeechCall = Call[SpeechRequest]


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A file of sound. size_bytes: of its content, which an imagined call does not have."""

    filename: str
    content_type: str
    content: bytes
    size_bytes: int

    @property
    def kind(self) -> str:
        """The media type as far as it matters how long the sound is."""
        return "audio/wav" if self._wav_bytes_per_s else "audio/mpeg"

    @property
    def most_ms(self) -> int:
        """How long it can be."""
        return self._ms(self._wav_bytes_per_s or LEAST_BYTES_PER_S)

    @property
    def likely_ms(self) -> int:
        """How long it is, as far as its size tells."""
        return self._ms(self._wav_bytes_per_s or USUAL_BYTES_PER_S)

    @property
    def _wav_bytes_per_s(self) -> int:
        """As the head of a WAV file says; 0 for another."""
        content = self.content
        if content[:4] != b"RIFF" or content[8:16] != b"WAVEfmt ":
            return 0
        return max(int.from_bytes(content[28:32], "little"), LEAST_BYTES_PER_S)

    def _ms(self, bytes_per_s: int) -> int:
        return -(-self.size_bytes * MS_PER_S // bytes_per_s)


class TranscriptionsRequest(Payload, frozen=True, kw_only=True):
    """What a request for the text of a recording asks for."""

    operation = "transcriptions"

    recording: Recording
    prompt: str = ""
    # json, text, srt, vtt, verbose_json or diarized_json.
    form: str = "json"
    prompt_tokens_bound: int = 0

    @property
    def answer_type(self) -> str:
        return TEXT_TYPES.get(self.form, "")


TEXT_TYPES = dict.fromkeys(("text", "srt", "vtt"), "text/plain; charset=utf-8")
TranscriptionsCall = Call[TranscriptionsRequest]


class TranslationsRequest(TranscriptionsRequest, frozen=True, kw_only=True):
    """The same, for its text in English."""

    operation = "translations"


class Segment(msgspec.Struct, frozen=True):
    """A piece of a transcript, in seconds from the beginning."""

    start: float
    end: float
    text: str


class TranscriptAnswer(msgspec.Struct, frozen=True):
    """A complete transcript. fields: all that the provider says, but for its usage."""

    text: str
    fields: dict[str, JsonValue]
    usage: Usage | None
    segments: tuple[Segment, ...] = ()

    def note(self, meter: AnswerMeter) -> None:
        # Silence has no text, and is paid for all the same.
        meter.count_other_output(1)
        if self.usage is None:
            meter.count_delta(len(self.text))
            meter.keep(self.text)

    def forget(self) -> None:
        self.fields.clear()
