"""OpenAI's speech. https://platform.openai.com/docs/api-reference/audio/createSpeech

A provider is asked for the file, whose bytes go on as they come. What it counts in tokens is told
in events alone: those are asked for where tokens of output have a price, and the caller's own wish
is met here.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from gateway.core.audio import SpeechRequest
from gateway.core.call import Call, Payload
from gateway.core.errors import ProviderUnavailable
from gateway.core.events import AudioPiece, Finish, StreamEnd, StreamEvent, UsageReported
from gateway.core.grant import Grant
from gateway.core.json_types import JsonValue
from gateway.core.money import Usage
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import invalid_answer, invalid_stream
from gateway.providers.openai_compatible.answers import MALFORMED, reported_error
from gateway.providers.openai_compatible.plain import PlainAdapter
from gateway.providers.openai_compatible.request import (
    BYTES_PER_TOKEN,
    change_fields,
    find_url,
    write_headers,
)
from gateway.providers.request_body import write_body
from gateway.providers.token_counts import read_count
from gateway.snapshot.types import TargetRecord

EVENTS = "text/event-stream"
# How what is no sound begins: JSON, a page, events. Raw samples may begin with anything.
NO_SOUND = (b"{", b"<", b"data:", b"event:")
NO_AUDIO = "The provider sent no audio."
SAMPLES = frozenset({"audio/pcm", "audio/basic"})


class SpeechCallRequest(UpstreamRequest, kw_only=True):
    """What is asked for is a file, or events with its pieces."""

    has_events: bool
    is_samples: bool
    # What it costs beside tokens; None where those have to be counted.
    usage: Usage | None


class OpenAISpeech(PlainAdapter):
    operation = "speech"
    drops = frozenset({"user"})

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> SpeechCallRequest:
        payload = call.payload
        assert isinstance(payload, SpeechRequest)
        has_events = BY_NAME[target.kind].streams_speech and target.price.output_pusd > 0
        changed = change_fields(payload, grant, target)
        changed["stream_format"] = b'"sse"' if has_events else None
        if not payload.has("response_format"):
            changed["response_format"] = b'"mp3"'  # as the caller is told; defaults differ
        body = write_body(payload.fields, changed)
        headers = write_headers(grant, target, stream=has_events)
        if not has_events:
            headers["accept"] = "*/*"
        characters = Usage(others={"character": len(payload.text)})
        return SpeechCallRequest(
            url=find_url(target, self.operation),
            headers=headers,
            body=body,
            prompt_tokens=len(body) // BYTES_PER_TOKEN + 1,
            # Tokens that have a price and are not told have to be counted.
            usage=None if has_price_of_tokens(target) and not has_events else characters,
            has_events=has_events,
            is_samples=payload.media_type in SAMPLES,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> NoReturn:
        raise AssertionError("Speech is always streamed.")

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        assert isinstance(request, SpeechCallRequest)
        if request.has_events:
            return SpeechEventDecoder(request.usage)
        return FileDecoder(request.usage, is_samples=request.is_samples)


def has_price_of_tokens(target: TargetRecord) -> bool:
    return bool(target.price.input_pusd or target.price.output_pusd)


class WholeBody:
    """A Framing of a body without frames: each piece is one, and its end is an empty one."""

    def feed(self, chunk: bytes) -> Sequence[bytes]:
        return (chunk,)

    def finish(self) -> Sequence[bytes]:
        return (b"",)


class FileDecoder:
    """Bytes of a file to events. usage: what it was, None to count it."""

    __slots__ = ("_has_begun", "_is_samples", "_usage", "framing")

    def __init__(self, usage: Usage | None, *, is_samples: bool) -> None:
        self.framing = WholeBody()
        self._usage = usage
        self._is_samples = is_samples
        self._has_begun = False

    def read(self, frame: bytes) -> list[StreamEvent]:
        if frame:
            if not self._has_begun and not self._is_samples and frame.startswith(NO_SOUND):
                raise invalid_answer(frame)
            self._has_begun = True
            return [AudioPiece(frame)]
        if not self._has_begun:
            raise ProviderUnavailable(NO_AUDIO)
        return [UsageReported(self._usage), Finish(0, "stop"), StreamEnd()]


class _Event(msgspec.Struct):
    """What we read of an event; the rest is skipped undecoded."""

    type: str = ""
    audio: str = ""
    usage: JsonValue = None
    error: JsonValue = None


_decode = msgspec.json.Decoder(_Event).decode


class SpeechEventDecoder:
    """Events with pieces of a file to ours. usage: what is known beside the tokens."""

    __slots__ = ("_has_begun", "_usage", "framing")

    def __init__(self, usage: Usage | None) -> None:
        self.framing = SseDecoder()
        self._usage = usage or Usage()
        self._has_begun = False

    def read(self, frame: bytes) -> list[StreamEvent]:
        if frame == b"[DONE]" or not frame.strip():
            return []
        try:
            event = _decode(frame)
            if event.error:
                raise reported_error(event.error)
            if event.type == "speech.audio.delta":
                piece = a2b_base64(event.audio, strict_mode=True)
                self._has_begun |= bool(piece)
                return [AudioPiece(piece)] if piece else []
        except MALFORMED:
            raise invalid_stream(frame) from None
        if event.type != "speech.audio.done":
            return []
        if not self._has_begun:
            raise ProviderUnavailable(NO_AUDIO)
        return [UsageReported(self._read_usage(event.usage)), Finish(0, "stop"), StreamEnd()]

    def _read_usage(self, raw: JsonValue) -> Usage | None:
        told = raw if isinstance(raw, dict) else {}
        prompt, output = read_count(told.get("input_tokens")), read_count(told.get("output_tokens"))
        if prompt is None or output is None:
            return None
        return Usage(prompt, output, others=self._usage.others)
