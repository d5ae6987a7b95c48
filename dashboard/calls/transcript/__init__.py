"""Stored bodies made readable, each by the format of its endpoint.

Takes every form in which answers are stored: one JSON object, or the events of a stream put
together; cut off anywhere. What is not understood is left to the raw text that stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dashboard.calls.transcript import (
    audio,
    chat,
    completions,
    messages,
    plain,
    responses,
)
from dashboard.calls.transcript.transcript import Transcript
from dashboard.calls.transcript.values import parse
from gateway.core.json_types import JsonObject

__all__ = ["FORMATS", "Transcript", "read_request", "read_response"]

CHAT = "chat_completions"
_DONE = "[DONE]"


class Format(NamedTuple):
    """How the bodies of an endpoint are read. stream: takes its events, and whether it is stored
    to its end. text: takes an answer that is no JSON, where there are such."""

    request: Callable[[JsonObject], Transcript]
    answer: Callable[[JsonObject], Transcript]
    stream: Callable[[Sequence[JsonObject], bool], Transcript] = chat.read_stream
    text: Callable[[str], Transcript] | None = None


_RECORDING = Format(audio.read_recording, audio.read_answer, audio.read_stream, audio.read_text)
FORMATS = {
    CHAT: Format(chat.read_request, chat.read_answer),
    "anthropic_messages": Format(messages.read_request, messages.read_answer, messages.read_stream),
    "completions": Format(
        completions.read_request, completions.read_answer, completions.read_stream
    ),
    "embeddings": Format(plain.read_inputs, plain.read_embeddings),
    "images": Format(plain.read_prompt, plain.read_images),
    "moderations": Format(plain.read_inputs, plain.read_moderations),
    "rerank": Format(plain.read_documents, plain.read_ranking),
    "speech": Format(audio.read_speech, audio.read_answer, audio.read_stream, audio.read_text),
    "transcriptions": _RECORDING,
    "translations": _RECORDING,
    "responses": Format(responses.read_request, responses.read_answer, responses.read_stream),
}


def read_request(text: str, endpoint: str = CHAT) -> Transcript:
    """Return the messages of a request's body. endpoint: its name."""
    body = parse(text)
    if not isinstance(body, dict):
        return Transcript(is_cut=text.startswith("{"))
    return FORMATS.get(endpoint, FORMATS[CHAT]).request(body)


def read_response(text: str, endpoint: str = CHAT) -> Transcript:
    """Return what was answered, put together where it was streamed. endpoint: its name."""
    form = FORMATS.get(endpoint, FORMATS[CHAT])
    body = parse(text)
    if isinstance(body, dict):
        return form.answer(body)
    events, is_done = _read_events(text)
    if not events and form.text is not None and text and not text.startswith("{"):
        return form.text(text)
    if not events:
        return Transcript(is_cut=text.startswith("{"))
    return form.stream(events, is_done)


def _read_events(text: str) -> tuple[list[JsonObject], bool]:
    """Return the JSON objects of a stream's events, and whether it came to its end."""
    events: list[JsonObject] = []
    is_done = False
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == _DONE:
            is_done = True
        elif data and isinstance(event := parse(data), dict):
            events.append(event)
    return events, is_done
