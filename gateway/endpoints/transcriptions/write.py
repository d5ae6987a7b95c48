"""POST /audio/transcriptions, outbound: transcripts to JSON, text, subtitles or events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec import UNSET

from gateway.core.audio import MS_PER_S, Segment, TranscriptAnswer
from gateway.core.errors import GatewayError
from gateway.core.events import Answer, Delta, WrittenEvent
from gateway.core.json_types import JsonObject
from gateway.core.money import usd
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.transcriptions.schema import (
    OURS,
    DurationUsage,
    TokenUsage,
    TranscriptDelta,
    TranscriptDone,
    encode,
)
from gateway.http.error_format import render_error
from gateway.http.sse import DATA, END, KEEP_ALIVE


class TranscriptWriter:
    """A Writer (gateway.endpoints.base). kind: the response_format."""

    def __init__(self, form: AnswerForm, kind: str) -> None:
        self._form = form
        self._kind = kind

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, TranscriptAnswer)
        if self._kind == "text":
            return answer.text.strip().encode() + b"\n"
        if self._kind in ("srt", "vtt"):
            write = write_srt if self._kind == "srt" else write_vtt
            return write(answer.segments).encode()
        form = self._form
        theirs = {name: value for name, value in answer.fields.items() if name not in OURS}
        ms = receipt.usage.others.get("second", 0)
        if self._kind == "verbose_json" and ms:
            theirs.setdefault("duration", write_seconds(ms))
        # Mistral's SDK does not read a transcript without either.
        theirs.setdefault("language", None)
        ours: JsonObject = {
            "model": form.model,
            "usage": write_usage(receipt),
            "credits_used": form.credits(receipt),
            **({"episode_id": form.episode_id} if form.episode_id else {}),
        }
        return encode({"text": answer.text, **theirs, **ours})


class TranscriptEventWriter:
    """A StreamWriter (gateway.endpoints.base)."""

    keep_alive = KEEP_ALIVE
    fallback: tuple[str, int] | None = None
    ends_with_whole = True

    def __init__(self, form: AnswerForm) -> None:
        self.is_open = False
        self._form = form
        self._texts: list[str] = []
        self._logprobs: list[JsonObject] = []

    def open(self) -> bytes:
        """A stream begins with its first text."""
        self.is_open = True
        return b""

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        raise AssertionError("The call asked for a stream.")

    def write(self, event: WrittenEvent) -> bytes:
        if isinstance(event, Delta):
            self.is_open = True
            return self._write_delta(event)
        return b""

    def _write_delta(self, delta: Delta) -> bytes:
        segment = delta.fields.get("segment")
        if segment is not None:
            return DATA + encode({"type": "transcript.text.segment", **segment}) + END
        text = delta.fields.get("content", "")
        self._texts.append(text)
        logprobs = cast(list[JsonObject] | None, delta.logprobs)
        self._logprobs += logprobs or ()
        written = TranscriptDelta(
            delta=text, logprobs=logprobs, segment_id=delta.fields.get("segment_id")
        )
        return DATA + encode(written) + END

    def close(self, receipt: Receipt) -> list[bytes]:
        form = self._form
        done = TranscriptDone(
            text="".join(self._texts),
            logprobs=self._logprobs or UNSET,
            usage=write_usage(receipt),
            credits_used=form.credits(receipt),
            episode_id=form.episode_id or UNSET,
        )
        return [DATA + encode(done) + END]

    def fail(self, error: GatewayError) -> bytes:
        body = render_error(error, self._form.call_id, self._form.profile)[1]
        return DATA + encode(body) + END


def write_usage(receipt: Receipt) -> TokenUsage | DurationUsage:
    """Return the usage in tokens where there are any, as OpenAI does."""
    usage, cost = receipt.usage, usd(receipt.charge_nusd)
    ms = usage.others.get("second", 0)
    if ms and not usage.prompt_tokens:
        return DurationUsage(write_seconds(ms), cost)
    total = usage.prompt_tokens + usage.completion_tokens
    return TokenUsage(usage.prompt_tokens, usage.completion_tokens, total, cost)


def write_seconds(ms: int) -> float:
    """Return seconds, a whole number where they are one."""
    return ms // MS_PER_S if ms % MS_PER_S == 0 else ms / MS_PER_S


def write_srt(segments: Iterable[Segment]) -> str:
    """Return subtitles as SubRip has them."""
    cues = [
        f"{number}\n{_time(one.start, ',')} --> {_time(one.end, ',')}\n{_text(one)}\n\n"
        for number, one in enumerate(segments, 1)
    ]
    return "".join(cues)


def write_vtt(segments: Iterable[Segment]) -> str:
    """Return subtitles as WebVTT has them (W3C)."""
    cues = [
        f"{_time(one.start, '.')} --> {_time(one.end, '.')}\n{_text(one)}\n\n" for one in segments
    ]
    return "WEBVTT\n\n" + "".join(cues)


def _text(segment: Segment) -> str:
    """Return the text of a cue: an arrow or an empty line in it would be read as something else."""
    return " ".join(segment.text.replace("-->", "->").split())


def _time(seconds: float, mark: str) -> str:
    ms = round(seconds * MS_PER_S)
    minutes, ms = divmod(ms, 60 * MS_PER_S)
    hours, minutes = divmod(minutes, 60)
    whole, ms = divmod(ms, MS_PER_S)
    return f"{hours:02d}:{minutes:02d}:{whole:02d}{mark}{ms:03d}"
