"""Mistral's transcripts, below /mistral/: its own form, answer and events, which its types judge.

https://docs.mistral.ai/api/endpoint/audio/transcriptions
There are segments where timestamp_granularities asks for them. All usage is told, in tokens and in
whole seconds. A script stands in context_bias, or in the name of the file.
"""

from __future__ import annotations

from typing import Any

from mistralai.client.models.audiotranscriptionrequest import AudioTranscriptionRequest
from mistralai.client.models.transcriptionresponse import TranscriptionResponse
from mistralai.client.models.transcriptionstreamdone import TranscriptionStreamDone
from mistralai.client.models.transcriptionstreamtextdelta import TranscriptionStreamTextDelta

from tests.fakes.asked import Request
from tests.fakes.book import Entry
from tests.fakes.dialect import encode
from tests.fakes.openai.audio import TranscriptPlayer, enter, read_upload, script_of
from tests.fakes.openai.judges import judge_answer
from tests.fakes.outgoing import Link
from tests.fakes.player import EVENT_STREAM, Player

PREFIX = "/mistral/"
NAMES = frozenset(AudioTranscriptionRequest.model_fields) - {"file"}
LISTS = frozenset({"context_bias", "timestamp_granularities"})


class MistralTranscriptPlayer(TranscriptPlayer):
    """Plays a transcript as Mistral does."""

    def _can_stream(self, model: str) -> bool:
        return True

    def _whole(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "model": "voxtral-mini-2602",
            "text": " ".join(self._words),
            "language": None,
            "usage": self._usage,
        }
        if "segment" in self._members.get("timestamp_granularities", ()):
            answer["segments"] = [
                {"type": "transcription_segment", "text": word, "start": n, "end": n + 0.5}
                for n, word in enumerate(self._words)
            ]
        return answer

    @property
    def _usage(self) -> dict[str, Any]:
        entry = self._entry
        return {
            "prompt_audio_seconds": entry.sound_ms // 1000,
            "prompt_tokens": entry.prompt_tokens,
            "completion_tokens": entry.completion_tokens,
            "total_tokens": entry.prompt_tokens + entry.completion_tokens,
        }

    async def _answer(self) -> None:
        self._entry.completion_tokens = len(self._words)
        answer = self._whole()
        judge_answer(TranscriptionResponse, answer)
        await self._send_whole(encode(self._spoil(answer)))

    async def _stream(self) -> None:
        out = self._out
        out.open(200, EVENT_STREAM, length=None)
        await self._break_if_due(0)
        for count, word in enumerate(self._words):
            if count == self._script.stall_after:
                await self._stall()
            text = word if count == 0 else f" {word}"
            self._entry.completion_tokens += 1
            delta = {"type": "transcription.text.delta", "text": text}
            judge_answer(TranscriptionStreamTextDelta, delta)
            await out.send(self._speller.event(encode(delta)))
            await self._break_if_due(count + 1)
        if self._script.stall_after == len(self._words):
            await self._stall()
        done = {**self._whole(), "type": "transcription.done"}
        judge_answer(TranscriptionStreamDone, done)
        await out.send(self._speller.event(encode(self._spoil(done))))
        await out.finish()


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    asked = read_upload(request, NAMES, LISTS)
    enter(entry, asked)
    script = script_of("".join(asked.members.get("context_bias", [asked.filename])))
    entry.prompt_tokens = entry.sound_ms // 80
    # Whole seconds are billed.
    entry.sound_ms = -(-entry.sound_ms // 1000) * 1000
    return MistralTranscriptPlayer(link, request, asked, script, entry, serial)
