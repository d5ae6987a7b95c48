"""Speech, and the text of recordings. Nothing stored has sound in it: a file is its type in
brackets, a recording its name and its size."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.calls.transcript.transcript import Message, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
    facts_of,
    inputs_of,
    number_of,
    object_of,
    request_facts,
    text_of,
    usage_facts,
)
from gateway.core.json_types import JsonObject

SPEECH_FACTS = ("voice", "response_format", "speed", "stream_format")
RECORDING_FACTS = ("language", "response_format", "temperature")
ROLE = "transcript"
DONE = ("speech.audio.done", "transcript.text.done")


def read_speech(body: JsonObject) -> Transcript:
    messages = inputs_of(body.get("input"), "input")
    if instructions := text_of(body.get("instructions")):
        messages.append(Message(role="instructions", text=cut(instructions)))
    voice = object_of(body.get("voice")).get("id", body.get("voice"))
    return make_transcript(messages, request_facts(body | {"voice": voice}, SPEECH_FACTS))


def read_recording(body: JsonObject) -> Transcript:
    file = object_of(body.get("file"))
    size = number_of(file.get("bytes"), 0)
    messages = [
        Message(
            role="recording", text=cut(text_of(file.get("filename"))), parts=[f"{size:,} bytes"]
        )
    ]
    if prompt := text_of(body.get("prompt")):
        messages.append(Message(role="prompt", text=cut(prompt)))
    return make_transcript(messages, request_facts(body, RECORDING_FACTS))


def read_answer(body: JsonObject) -> Transcript:
    """Return the transcript of a recording. Of speech there is none."""
    text = text_of(body.get("text"))
    messages = [Message(role=ROLE, text=cut(text))] if text else []
    facts = [*facts_of(body, ("language", "duration")), *usage_facts(body)]
    return make_transcript(messages, facts, error_of(body))


def read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    """The last event has the whole text, and stands alone where the call came to its end."""
    pieces: list[str] = []
    whole, error = "", ""
    facts: dict[str, str] = {}
    for event in events:
        error = error or error_of(event)
        facts |= dict(usage_facts(event))
        pieces.append(text_of(event.get("delta")))
        is_done = is_done or event.get("type") in DONE
        whole = whole or text_of(event.get("text"))
    text = whole or "".join(pieces)
    messages = [Message(role=ROLE, text=cut(text))] if text else []
    return make_transcript(messages, list(facts.items()), error, is_stream=True, is_cut=not is_done)


def read_text(text: str) -> Transcript:
    """Return an answer in plain text, or in subtitles; of a file of sound its type."""
    if text.startswith("[") and text.endswith("]"):
        return make_transcript([Message(role="file", parts=[cut(text[1:-1])])], ())
    return make_transcript([Message(role=ROLE, text=cut(text))], ())
