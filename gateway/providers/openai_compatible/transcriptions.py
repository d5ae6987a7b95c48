"""OpenAI's transcriptions and translations, which files are sent to in forms.

https://platform.openai.com/docs/api-reference/audio/createTranscription
https://platform.openai.com/docs/api-reference/audio/createTranslation

A provider is asked for JSON, which alone says how long the recording was: plain text and subtitles
are written from it. Streams may be OpenAI's events, Mistral's
(https://docs.mistral.ai/api/endpoint/audio/transcriptions), chunks as those of a chat (vLLM,
https://docs.vllm.ai/en/latest/serving/online_serving/speech_to_text/), or a whole answer after all:
whisper-1 streams nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import msgspec

from gateway.core.audio import MS_PER_S, Segment, TranscriptAnswer, TranscriptionsRequest
from gateway.core.call import Call, Payload
from gateway.core.errors import StreamBroken, UnsupportedParameter
from gateway.core.events import Delta, Finish, StreamEnd, StreamEvent, UsageReported
from gateway.core.forms import FormPart, write_fields, write_form
from gateway.core.grant import Grant
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.money import Usage
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import invalid_answer, invalid_stream
from gateway.providers.openai_compatible.answers import MALFORMED, OpenAIDecoder, reported_error
from gateway.providers.openai_compatible.plain import PlainAdapter
from gateway.providers.openai_compatible.request import change_fields, find_url, write_headers
from gateway.providers.request_body import is_ours
from gateway.providers.token_counts import read_count
from gateway.snapshot.types import TargetRecord

# What is asked for in the place of what only text is.
JSON_FORMS = {"text": "json", "srt": "verbose_json", "vtt": "verbose_json"}
SUBTITLES = frozenset({"srt", "vtt"})
# What reaches every provider in one way or another.
MET_HERE = frozenset({"model", "response_format", "stream"})
MAX_SECONDS = 10**8
MAX_WHOLE_BYTES = 16 * 1024 * 1024
SAID_TOKENS_PER_S = 10
_decode = msgspec.json.Decoder(dict[str, JsonValue]).decode


class TranscriptionCallRequest(UpstreamRequest, kw_only=True):
    # Its answer has to say when each piece was said.
    needs_segments: bool


class OpenAITranscriptions(PlainAdapter):
    drops = frozenset({"user"})

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def check(self, call: Call[Payload], target: TargetRecord) -> set[str]:
        dropped = super().check(call, target)
        payload, taken = call.payload, BY_NAME[target.kind].transcript_fields
        assert isinstance(payload, TranscriptionsRequest)
        if not taken:
            return dropped
        if payload.form == "diarized_json":
            raise UnsupportedParameter(
                f"{call.facts.model} does not support response_format diarized_json.",
                param="response_format",
            )
        given = {name for name in payload.fields if payload.has(name) and not is_ours(name)}
        return dropped | (given - taken - MET_HERE)

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> TranscriptionCallRequest:
        payload, stream = call.payload, call.facts.stream and streams(target)
        assert isinstance(payload, TranscriptionsRequest)
        changed = change_fields(payload, grant, target)
        changed |= ask_for_form(payload, target, stream=stream)
        changed["stream"] = b"true" if stream else None
        recording = payload.recording
        file = FormPart("file", recording.content, recording.filename, recording.content_type)
        of_list = "" if BY_NAME[target.kind].transcript_fields else "[]"
        content_type, body = write_form([*write_parts(payload.fields, changed, of_list), file])
        headers = write_headers(grant, target, stream=stream) | {"content-type": content_type}
        return TranscriptionCallRequest(
            url=find_url(target, self.operation),
            headers=headers,
            body=body,
            prompt_tokens=recording.likely_ms * SAID_TOKENS_PER_S // MS_PER_S + 1,
            needs_segments=payload.form in SUBTITLES,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> TranscriptAnswer:
        """Raises ProviderUnavailable for what is no transcript, or has no times where they are
        needed."""
        assert isinstance(request, TranscriptionCallRequest)
        return read_transcript(body, needs_segments=request.needs_segments)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return TranscriptDecoder()


def ask_for_form(
    payload: TranscriptionsRequest, target: TargetRecord, *, stream: bool
) -> dict[str, bytes | None]:
    """Return the fields that say in which form the transcript has to come."""
    kind = BY_NAME[target.kind]
    form = JSON_FORMS.get(payload.form, payload.form)
    if kind.transcript_fields:
        is_said = payload.has("timestamp_granularities") and payload.form not in SUBTITLES
        if form == "json" or is_said:
            return {"response_format": None}
        return {"response_format": None, "timestamp_granularities": b'["segment"]'}
    if form == "json" and not stream and target.price.of("second") and not kind.tells_duration:
        form = "verbose_json"
    return {"response_format": msgspec.json.encode(form)}


def streams(target: TargetRecord) -> bool:
    """Return whether the model can be asked for a transcript in pieces. Another is asked for a
    whole one, which can tell how long the recording was."""
    return BY_NAME[target.kind].streams_whisper or "whisper" not in target.native_model.lower()


def write_parts(
    fields: Mapping[str, bytes], changed: Mapping[str, bytes | None], of_list: str
) -> list[FormPart]:
    """Return the fields of a form, but for the gateway's own. of_list: as write_fields has it."""
    parts: list[FormPart] = []
    for name, raw in {**fields, **changed}.items():
        if raw is not None and not is_ours(name):
            parts += write_fields(name, msgspec.json.decode(raw), of_list)
    return parts


def read_transcript(body: bytes, *, needs_segments: bool = False) -> TranscriptAnswer:
    try:
        fields = _decode(body)
        text = fields["text"]
        segments = _read_segments(fields["segments"]) if needs_segments else ()
    except MALFORMED:
        raise invalid_answer(body) from None
    if not isinstance(text, str):
        raise invalid_answer(body)
    usage = read_usage(fields.pop("usage", None), fields.get("duration"))
    return TranscriptAnswer(text, fields, usage, segments)


def _read_segments(raw: JsonValue) -> tuple[Segment, ...]:
    """Raises one of MALFORMED."""
    return tuple(msgspec.convert(raw, list[Segment]))


def read_usage(raw: JsonValue, duration: JsonValue = None) -> Usage | None:
    """Return the tokens and the milliseconds that an answer tells; None for neither."""
    told: JsonObject = raw if isinstance(raw, dict) else {}
    prompt = read_count(told.get("input_tokens", told.get("prompt_tokens")))
    output = read_count(told.get("output_tokens", told.get("completion_tokens")))
    seconds = told.get("seconds", told.get("prompt_audio_seconds", duration))
    ms = read_ms(seconds)
    if ms is None and (prompt is None or output is None):
        return None
    return Usage(prompt or 0, output or 0, others={} if ms is None else {"second": ms})


def read_ms(seconds: JsonValue) -> int | None:
    """Return the milliseconds of a duration: a number, or one as text."""
    if isinstance(seconds, str) and len(seconds) <= 20:
        try:
            seconds = float(seconds)
        except ValueError:
            return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    if not isfinite(seconds) or not 0 <= seconds <= MAX_SECONDS:
        return None
    return round(seconds * MS_PER_S)


class TranscriptFraming:
    """Server-sent events; or one JSON object, which is the last frame."""

    __slots__ = ("_events", "_has_begun", "_whole", "is_whole")

    def __init__(self) -> None:
        self.is_whole = False
        self._has_begun = False
        self._whole = bytearray()
        self._events = SseDecoder()

    def feed(self, chunk: bytes) -> list[bytes]:
        if not self._has_begun:
            chunk = chunk.lstrip()
            self._has_begun = bool(chunk)
            self.is_whole = chunk.startswith(b"{")
        if not self.is_whole:
            return self._events.feed(chunk)
        self._whole += chunk
        if len(self._whole) > MAX_WHOLE_BYTES:
            raise StreamBroken("The provider's response is too large.")
        return []

    def finish(self) -> list[bytes]:
        return [bytes(self._whole)] if self.is_whole else self._events.finish()


class TranscriptDecoder:
    """Events of a transcript to ours."""

    __slots__ = ("_chunks", "framing")

    def __init__(self) -> None:
        self.framing = TranscriptFraming()
        self._chunks = OpenAIDecoder()

    def read(self, frame: bytes) -> list[StreamEvent]:
        if self.framing.is_whole:
            return self._read_whole(frame)
        if frame == b"[DONE]":
            return [StreamEnd()]
        if not frame.strip():
            return []
        try:
            event = _decode(frame)
            if event.get("error"):
                raise reported_error(event["error"])
            if "choices" in event:
                return self._chunks.read(frame)
            return _read_event(event)
        except MALFORMED:
            raise invalid_stream(frame) from None

    def _read_whole(self, body: bytes) -> list[StreamEvent]:
        answer = read_transcript(body)
        said: list[StreamEvent] = [Delta(0, {"content": answer.text})] if answer.text else []
        logprobs = answer.fields.get("logprobs")
        if said and isinstance(logprobs, list):
            said = [Delta(0, {"content": answer.text}, logprobs)]
        return [*said, *_end(answer.usage)]


def _end(usage: Usage | None) -> list[StreamEvent]:
    return [UsageReported(usage), Finish(0, "stop"), StreamEnd()]


def _read_event(event: JsonObject) -> list[StreamEvent]:
    """Raises one of MALFORMED. Unknown events are passed over."""
    kind = event.get("type")
    if kind == "transcript.text.delta":
        fields: JsonObject = {"content": _text(event["delta"])}
        if isinstance(segment_id := event.get("segment_id"), str):
            fields["segment_id"] = segment_id
        logprobs = event.get("logprobs")
        return [Delta(0, fields, logprobs if isinstance(logprobs, list) else None)]
    if kind == "transcript.text.segment":
        segment = {name: value for name, value in event.items() if name != "type"}
        return [Delta(0, {"segment": segment})]
    if kind == "transcription.text.delta":
        return [Delta(0, {"content": _text(event["text"])})]
    if kind in ("transcript.text.done", "transcription.done"):
        return _end(read_usage(event.get("usage")))
    return []


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("No text.")
    return value
