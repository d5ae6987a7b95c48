"""Completions: prompts and the texts that go on from them."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.calls.transcript.chat import finish_of
from dashboard.calls.transcript.transcript import Message, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
    inputs_of,
    number_of,
    objects_of,
    request_facts,
    text_of,
    usage_facts,
)
from gateway.core.json_types import JsonObject

ROLE = "completion"


def read_request(body: JsonObject) -> Transcript:
    messages = inputs_of(body.get("prompt"), "prompt")
    if suffix := text_of(body.get("suffix")):
        messages.append(Message(role="suffix", text=cut(suffix)))
    return make_transcript(messages, request_facts(body))


def read_answer(body: JsonObject) -> Transcript:
    messages = [
        Message(role=ROLE, text=cut(text_of(choice.get("text"))), note=finish_of(choice))
        for choice in objects_of(body.get("choices"))
    ]
    return make_transcript(messages, usage_facts(body), error_of(body))


def read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    pieces: dict[int, list[str]] = {}
    notes: dict[int, str] = {}
    facts: dict[str, str] = {}
    error = ""
    for event in events:
        error = error or error_of(event)
        facts |= dict(usage_facts(event))
        for choice in objects_of(event.get("choices")):
            index = number_of(choice.get("index"), 0)
            pieces.setdefault(index, []).append(text_of(choice.get("text")))
            notes[index] = finish_of(choice) or notes.get(index, "")
    messages = [
        Message(role=ROLE, text=cut("".join(pieces[index])), note=notes[index])
        for index in sorted(pieces)
    ]
    return make_transcript(messages, list(facts.items()), error, is_stream=True, is_cut=not is_done)
