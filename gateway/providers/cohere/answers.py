"""Whole answers and streams of Cohere's Chat API to our events.

Money goes by billed units, as Cohere's bills do: `tokens` counts what the API puts around a prompt,
too.
Reference: https://docs.cohere.com/v2/docs/streaming and
https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from gateway.core.errors import ProviderUnavailable, StreamBroken
from gateway.core.events import (
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    UsageReported,
)
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.money import Usage
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import MALFORMED, invalid_answer, invalid_stream
from gateway.providers.token_counts import read_whole

T = TypeVar("T")
# Not among them: COMPLETE and STOP_SEQUENCE. They are a stop, as is whatever we do not know.
FINISH_REASONS: Mapping[str, str] = {
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
}
FAILURES = frozenset({"ERROR", "TIMEOUT"})
GAVE_UP = "The provider could not complete the response."


class Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class ToolCall(msgspec.Struct):
    """A call of a tool, or a piece of one."""

    id: str = ""
    function: Function = msgspec.field(default_factory=Function)


class Content(msgspec.Struct):
    """A part of an answer, or a piece of one."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None


class Source(msgspec.Struct):
    """What a piece of text was taken from."""

    type: str = ""
    id: str | None = None
    document: JsonObject | None = None


class Citation(msgspec.Struct):
    start: int | None = None
    end: int | None = None
    text: str | None = None
    sources: list[Source] | None = None


class Message(msgspec.Struct):
    content: list[Content] | None = None
    tool_plan: str | None = None
    tool_calls: list[ToolCall] | None = None
    citations: list[Citation] | None = None


class LogProb(msgspec.Struct):
    """A piece of text and the log probabilities of its tokens."""

    text: str | None = None
    logprobs: list[float] | None = None


class Counts(msgspec.Struct):
    input_tokens: float | None = None
    output_tokens: float | None = None


class Counted(msgspec.Struct):
    """What an answer used."""

    billed_units: Counts | None = None
    tokens: Counts | None = None
    cached_tokens: float | None = None


class Answer(msgspec.Struct):
    """A whole answer."""

    message: Message
    finish_reason: str = ""
    usage: JsonValue = None
    logprobs: list[LogProb] | None = None


class PieceMessage(msgspec.Struct):
    """The same as of a message, each one piece."""

    content: Content | list[Content] | None = None
    tool_plan: str | None = None
    tool_calls: ToolCall | list[ToolCall] | None = None
    citations: Citation | list[Citation] | None = None


class PieceDelta(msgspec.Struct):
    message: PieceMessage | None = None
    finish_reason: str | None = None
    usage: JsonValue = None
    error: str | None = None


class Piece(msgspec.Struct):
    """One event of a stream. What we do not know is skipped."""

    type: str = ""
    index: int | None = 0
    delta: PieceDelta | None = None
    logprobs: LogProb | None = None


_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_piece = msgspec.json.Decoder(Piece).decode


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole answer. Raises ProviderUnavailable when it makes no sense."""
    try:
        answer = _decode_answer(body)
    except MALFORMED:
        raise invalid_answer(body) from None
    reason, message = answer.finish_reason, answer.message
    if reason in FAILURES:
        raise ProviderUnavailable(GAVE_UP, detail=reason)
    parts = message.content or []
    said: dict[str, object] = {
        "role": "assistant",
        "content": "".join(part.text or "" for part in parts),
    }
    thought = (message.tool_plan or "") + "".join(part.thinking or "" for part in parts)
    if thought:
        said["reasoning"] = thought
    if message.tool_calls:
        said["tool_calls"] = [_write_call(call) for call in message.tool_calls]
        said["content"] = said["content"] or None
    if message.citations:
        said["annotations"] = [_write_citation(citation) for citation in message.citations]
    logprobs = _write_logprobs(answer.logprobs or [])
    choice = Choice(0, said, FINISH_REASONS.get(reason, "stop"), logprobs, reason)
    return ChatAnswer((choice,), read_usage(answer.usage))


class ChatDecoder:
    """Events of one stream. It remembers how many calls of tools there have been."""

    __slots__ = ("_calls", "framing")

    def __init__(self) -> None:
        self.framing = SseDecoder()
        self._calls = 0

    def read(self, frame: bytes) -> list[StreamEvent]:
        """Return what one event amounts to. Raises StreamBroken, or the error it reports."""
        if frame == b"[DONE]":
            return [StreamEnd()]
        try:
            piece = _decode_piece(frame)
        except MALFORMED:
            if not frame.strip():
                return []
            raise invalid_stream(frame) from None
        if piece.delta is None:
            return []
        if piece.type == "message-end":
            return self._read_end(piece.delta)
        message = piece.delta.message
        return [] if message is None else self._read_piece(piece, message)

    def _read_piece(self, piece: Piece, message: PieceMessage) -> list[StreamEvent]:
        fields: dict[str, JsonValue] = {}
        for part in _each(message.content):
            if part.text:
                fields["content"] = part.text
            if part.thinking:
                fields["reasoning"] = part.thinking
        if message.tool_plan:
            fields["reasoning"] = message.tool_plan
        if calls := [self._read_call(piece.type, call) for call in _each(message.tool_calls)]:
            fields["tool_calls"] = calls
        if citations := [_write_citation(citation) for citation in _each(message.citations)]:
            fields["annotations"] = citations
        if not fields:
            return []
        return [Delta(0, fields, _write_logprobs([piece.logprobs] if piece.logprobs else []))]

    def _read_call(self, kind: str, call: ToolCall) -> JsonObject:
        if kind == "tool-call-start":
            self._calls += 1
            return {"index": self._calls - 1} | _write_call(call)
        arguments = {"arguments": call.function.arguments}
        return {"index": max(self._calls - 1, 0), "function": arguments}

    def _read_end(self, delta: PieceDelta) -> list[StreamEvent]:
        reason = delta.finish_reason or ""
        if reason in FAILURES or delta.error:
            raise StreamBroken(GAVE_UP, detail=reason, quote=delta.error or "")
        events: list[StreamEvent] = []
        if (usage := read_usage(delta.usage)) is not None:
            events.append(UsageReported(usage))
        if reason:
            events.append(Finish(0, FINISH_REASONS.get(reason, "stop"), None, reason))
        return [*events, StreamEnd()]


def read_usage(raw: JsonValue) -> Usage | None:
    """Return the counts, or None when they are missing or make no sense."""
    try:
        counted = msgspec.convert(raw, Counted)
    except msgspec.ValidationError:
        return None
    for counts in (counted.billed_units, counted.tokens):
        if counts is None:
            continue
        prompt, completion = read_whole(counts.input_tokens), read_whole(counts.output_tokens)
        if prompt is not None and completion is not None:
            cached = read_whole(counted.cached_tokens) or 0
            return Usage(prompt, completion, min(cached, prompt))
    return None


def _each(given: T | list[T] | None) -> list[T]:
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _write_call(call: ToolCall) -> JsonObject:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _write_citation(citation: Citation) -> JsonObject:
    """Return a citation as OpenAI's annotations are: of a page where the source has an address,
    else of a file."""
    place: JsonObject = {"start_index": citation.start or 0, "end_index": citation.end or 0}
    source = (citation.sources or [Source()])[0]
    data = source.document or {}
    title = data.get("title")
    if isinstance(url := data.get("url"), str):
        page = place | {"url": url, "title": title if isinstance(title, str) else ""}
        return {"type": "url_citation", "url_citation": page}
    file = place | {"file_id": source.id or "", "text": citation.text or ""}
    if isinstance(title, str):
        file["filename"] = title
    return {"type": "file_citation", "file_citation": file}


def _write_logprobs(found: list[LogProb]) -> JsonValue:
    content: list[JsonValue] = [
        {
            "token": item.text or "",
            "logprob": sum(item.logprobs or ()),
            "bytes": list((item.text or "").encode()),
            "top_logprobs": [],
        }
        for item in found
    ]
    return {"content": content, "refusal": None} if content else None
