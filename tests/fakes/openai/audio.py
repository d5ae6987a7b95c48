"""OpenAI's audio APIs as the fake upstream speaks them: speech, transcriptions and translations.

`script:` in `input`, or in `prompt` of a form, is obeyed. `tokens` are pieces of speech, or words
of a transcript. Whisper tells how long a recording was and streams nothing; models whose names
begin with gpt count tokens. Below /groq/ plain JSON tells neither. Nobody has to ask for subtitles.
"""

from __future__ import annotations

from base64 import b64encode
from email import message_from_bytes
from email.policy import HTTP
from itertools import cycle, islice
from typing import Any

import msgspec
from openai.types.audio import (
    SpeechCreateParams,
    Transcription,
    TranscriptionVerbose,
)
from openai.types.audio.transcription_create_params import TranscriptionCreateParamsBase
from openai.types.audio.transcription_text_delta_event import TranscriptionTextDeltaEvent
from openai.types.audio.transcription_text_done_event import TranscriptionTextDoneEvent
from openai.types.audio.translation_create_params import TranslationCreateParams

from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import encode
from tests.fakes.openai.judges import judge_answer, judge_request
from tests.fakes.outgoing import Link
from tests.fakes.player import EVENT_STREAM, Player
from tests.fakes.script import Script
from tests.fakes.strictness import Refused

Body = dict[str, Any]
# A token of speech is so many bytes of MP3, at 128 kbit/s and 1,250 tokens per minute.
PIECE_BYTES = 768
BYTES_PER_S = 16_000
FORMS = frozenset({"json", "verbose_json", "diarized_json"})
# What a transcription has beside what a translation has.
NAMES = {
    "transcriptions": frozenset(TranscriptionCreateParamsBase.__annotations__) | {"stream"},
    "translations": frozenset(TranslationCreateParams.__annotations__),
}


def sound(pieces: int) -> bytes:
    """Return the file of so many pieces: every byte is in it, and what ends events."""
    body = bytes(range(256)) + b"\n\ndata: [DONE]\n\n"
    return b"ID3" + bytes(islice(cycle(body), pieces * PIECE_BYTES - 3))


class Asked(msgspec.Struct):
    """The members of a form, lists without their brackets, and the file's bytes."""

    members: Body
    content: bytes = b""
    filename: str = ""


def read_upload(
    request: Request, names: frozenset[str], bare_lists: frozenset[str] = frozenset()
) -> Asked:
    """Read a form as the standard library does. Raises Refused.

    names: all that may be in it. bare_lists: those of them that may be there several times, where
    lists have no brackets.
    """
    content_type = {name.lower(): value for name, value in request.headers}["content-type"]
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = message_from_bytes(head + request.body, policy=HTTP)
    if message.get_content_type() != "multipart/form-data" or message.defects:
        raise Refused(f"The form is malformed: {message.defects}")
    asked = Asked({})
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(name, str)
        assert isinstance(content, bytes)
        if name == "file":
            asked.content, asked.filename = content, part.get_filename() or ""
        elif name in bare_lists:
            asked.members.setdefault(name, []).append(content.decode())
        elif name.endswith("[]") and not bare_lists:
            asked.members.setdefault(name[:-2], []).append(content.decode())
        elif name in asked.members:
            raise Refused(f"{name} is there twice.")
        else:
            asked.members[name] = content.decode()
    known = {name if bare_lists else name.partition("[")[0] for name in asked.members}
    if extra := known - names:
        raise Refused(f"Unrecognized request argument supplied: {min(extra)}")
    if not asked.filename or asked.members.get("response_format", "json") not in FORMS:
        raise Refused("There is no file, or a response_format that nobody has to ask for.")
    return asked


class SpeechPlayer(Player):
    """Plays speech: bytes, or events with them."""

    def __init__(
        self, link: Link, request: Request, body: Body, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, Chat(model=body["model"]), script, entry, serial)
        self._has_events = body.get("stream_format") == "sse"

    async def _answer(self) -> None:
        out, script = self._out, self._script
        out.open(200, EVENT_STREAM if self._has_events else "audio/mpeg", length=None)
        whole = sound(script.tokens)
        await self._break_if_due(0)
        for count in range(script.tokens):
            if count == script.stall_after:
                await self._stall()
            piece = whole[count * PIECE_BYTES : (count + 1) * PIECE_BYTES]
            event = {"type": "speech.audio.delta", "audio": b64encode(piece).decode()}
            await out.send(self._speller.event(encode(event)) if self._has_events else piece)
            self._entry.completion_tokens += 1
            await self._break_if_due(count + 1)
        if script.stall_after == script.tokens:
            await self._stall()
        if self._has_events:
            usage = tokens_of(self._entry)
            self._entry.report(usage)
            await out.send(
                self._speller.event(encode({"type": "speech.audio.done", "usage": usage}))
            )
        await out.finish()


class TranscriptPlayer(Player):
    """Plays a transcript."""

    def __init__(
        self, link: Link, request: Request, asked: Asked, script: Script, entry: Entry, serial: int
    ) -> None:
        model: str = asked.members["model"]
        self._members = asked.members
        self._counts_tokens: bool = model.startswith("gpt")
        stream = self._can_stream(model) and asked.members.get("stream") == "true"
        super().__init__(link, request, Chat(model=model, stream=stream), script, entry, serial)
        self._form = asked.members.get("response_format", "json")
        self._hides_duration = "/groq/" in request.path and self._form == "json"
        self._words = script.text.split() or [f"word{index}" for index in range(script.tokens)]

    def _can_stream(self, model: str) -> bool:
        return self._counts_tokens

    @property
    def _usage(self) -> Body:
        if self._counts_tokens:
            return {"type": "tokens", **tokens_of(self._entry)}
        return {"type": "duration", "seconds": self._entry.sound_ms / 1000}

    def _spoil(self, answer: Body) -> Body:
        how, _, value = self._script.usage.partition(":")
        if how == "none" or self._hides_duration:
            answer.pop("usage", None)
        if how == "raw":
            answer["usage"] = msgspec.Raw(value.encode())
        if how == "none":
            answer.pop("duration", None)
        self._entry.report(answer.get("usage"))
        return answer

    async def _answer(self) -> None:
        if self._counts_tokens:
            self._entry.completion_tokens = len(self._words)
        answer: Body = {"text": " ".join(self._words), "usage": self._usage}
        if self._form == "json":
            judge_answer(Transcription, answer)
        else:
            segments = [
                {
                    "id": index,
                    "seek": 0,
                    "start": index,
                    "end": index + 0.5,
                    "text": word,
                    "tokens": [],
                    "temperature": 0,
                    "avg_logprob": 0,
                    "compression_ratio": 1,
                    "no_speech_prob": 0,
                }
                for index, word in enumerate(self._words)
            ]
            seconds = self._entry.sound_ms / 1000
            answer |= {"language": "english", "duration": seconds, "segments": segments}
            if not self._counts_tokens:
                judge_answer(TranscriptionVerbose, answer)
        answer = self._spoil(answer)
        if how := self._script.answers.removeprefix("raw:"):
            await self._send_whole(how.encode())
            return
        await self._send_whole(encode(answer))

    async def _stream(self) -> None:
        out = self._out
        out.open(200, EVENT_STREAM, length=None)
        await self._break_if_due(0)
        for count, word in enumerate(self._words):
            if count == self._script.stall_after:
                await self._stall()
            text = word if count == 0 else f" {word}"
            delta = {"type": "transcript.text.delta", "delta": text}
            judge_answer(TranscriptionTextDeltaEvent, delta)
            self._entry.completion_tokens += 1
            await out.send(self._speller.event(encode(delta)))
            await self._break_if_due(count + 1)
        if self._script.stall_after == len(self._words):
            await self._stall()
        text = " ".join(self._words)
        done = {"type": "transcript.text.done", "text": text, "usage": self._usage}
        judge_answer(TranscriptionTextDoneEvent, done)
        await out.send(self._speller.event(encode(self._spoil(done))))
        await out.finish()


def tokens_of(entry: Entry) -> Body:
    return {
        "input_tokens": entry.prompt_tokens,
        "output_tokens": entry.completion_tokens,
        "total_tokens": entry.prompt_tokens + entry.completion_tokens,
    }


def script_of(text: str) -> Script:
    return Chat(messages=[Message("user", text)]).script()


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    operation = request.path.rpartition("/")[2]
    if operation == "speech":
        return _speech(link, request, entry, serial)
    asked = read_upload(request, NAMES[operation])
    script = script_of(asked.members.get("prompt", ""))
    enter(entry, asked)
    entry.prompt_tokens = entry.sound_ms // 100 if entry.model.startswith("gpt") else 0
    return TranscriptPlayer(link, request, asked, script, entry, serial)


def enter(entry: Entry, asked: Asked) -> None:
    entry.model = asked.members["model"]
    entry.sound_ms = len(asked.content) * 1000 // BYTES_PER_S


def _speech(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    body: Body = msgspec.json.decode(request.body)
    judge_request(SpeechCreateParams, body)
    if body.get("stream_format") == "sse" and body["model"].startswith("tts"):
        raise Refused("stream_format sse is not supported by this model.")
    entry.model, entry.characters = body["model"], len(body["input"])
    entry.prompt_tokens = len(body["input"].split())
    return SpeechPlayer(link, request, body, script_of(body["input"]), entry, serial)
