"""Whole answers and streams of Anthropic's Messages API to our events.

Reference: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.events import (
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    UsageReported,
)
from gateway.providers.anthropic.citations import Citation, write_citation
from gateway.providers.anthropic.errors import ErrorObject, read_reported_error
from gateway.providers.anthropic.usage import read_usage
from gateway.providers.base import Framing
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import MALFORMED, invalid_answer, invalid_stream

# Not among them: end_turn, stop_sequence, and pause_turn, which only tools of the provider's own
# bring about. They are a stop, as is whatever we do not know.
FINISH_REASONS: Mapping[str, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
NO_ARGUMENTS = "{}"
_encode = msgspec.json.encode


class ContentBlock(msgspec.Struct, kw_only=True):
    """A block of an answer, or the beginning of one in a stream."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    # Of thoughts that only the provider can read.
    data: str = ""
    citations: list[Citation] | None = None
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class Message(msgspec.Struct):
    """A whole answer, or what is known of one when its stream begins."""

    content: list[ContentBlock]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: object = None


class PieceDelta(msgspec.Struct, kw_only=True):
    """What a piece of a stream adds, or how the message ends."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    citation: Citation | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class Piece(msgspec.Struct, kw_only=True):
    """One event of a stream. What we do not know is skipped."""

    type: str
    index: int = 0
    message: Message | None = None
    content_block: ContentBlock | None = None
    delta: PieceDelta | None = None
    usage: object = None
    error: ErrorObject | None = None


_decode_message = msgspec.json.Decoder(Message).decode
_decode_piece = msgspec.json.Decoder(Piece).decode


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole answer. Raises ProviderUnavailable when it makes no sense."""
    try:
        message = _decode_message(body)
        calls = [_read_call(block) for block in message.content if block.type == "tool_use"]
    except MALFORMED:
        raise invalid_answer(body) from None
    said: dict[str, object] = {"role": "assistant", "content": _join(message, "text", "text")}
    if thought := _join(message, "thinking", "thinking"):
        said["reasoning"] = thought
    if details := list(_read_details(message)):
        said[reasoning.FIELD] = details
    if cited := list(_read_citations(message)):
        said["annotations"] = cited
    if calls:
        said["tool_calls"] = calls
        said["content"] = said["content"] or None
    reason = message.stop_reason or ""
    choice = Choice(0, said, FINISH_REASONS.get(reason, "stop"), None, reason)
    return ChatAnswer((choice,), read_usage(message.usage), _extras_of(message.stop_sequence))


def _extras_of(stop_sequence: str | None) -> dict[str, object]:
    """Return what only callers of the same format are told."""
    return {} if stop_sequence is None else {"stop_sequence": stop_sequence}


def _join(message: Message, kind: str, field: str) -> str:
    return "".join(getattr(block, field) for block in message.content if block.type == kind)


def _read_details(message: Message) -> Iterator[dict[str, object]]:
    """Yield the thoughts as they have to come back: in order, and unchanged."""
    index = 0
    for block in message.content:
        if block.type == "thinking":
            signed = {"signature": block.signature} if block.signature else {}
            yield _write_detail("text", index, text=block.thinking, **signed)
        elif block.type == "redacted_thinking":
            yield _write_detail("encrypted", index, data=block.data)
        else:
            continue
        index += 1


def _write_detail(kind: str, index: int, **said: str) -> dict[str, object]:
    return reasoning.write(kind, index, reasoning.ANTHROPIC, **said)


def _read_citations(message: Message) -> Iterator[dict[str, object]]:
    start = 0
    for block in message.content:
        if block.type == "text":
            end = start + len(block.text)
            for citation in block.citations or ():
                yield write_citation(citation, start, end)
            start = end


def _read_call(block: ContentBlock) -> dict[str, object]:
    return _write_call(block, {"name": block.name, "arguments": _arguments_of(block)})


def _arguments_of(block: ContentBlock) -> str:
    """Return the input of a call as it was written. Raises UnicodeDecodeError."""
    arguments = bytes(block.input).decode()
    return NO_ARGUMENTS if arguments in ("null", "{ }") else arguments


def _write_call(block: ContentBlock, function: dict[str, str]) -> dict[str, object]:
    return {"id": block.id, "type": "function", "function": function}


class MessagesDecoder:
    """Events of one stream. It remembers the input's counts, which come first, the block that is
    open, and how much has been thought and said."""

    __slots__ = (
        *("_calls", "_citations", "_end", "_has_arguments", "_is_call", "_start", "_thoughts"),
        *("_usage", "framing"),
    )

    def __init__(self, framing: Framing | None = None) -> None:
        """framing: the cloud's own; frames are the JSON of events."""
        self.framing: Framing = framing or SseDecoder()
        self._usage: object = None
        self._calls = 0
        # Blocks of thought that have begun, the open one included.
        self._thoughts = 0
        # Of the open block of text, and where in the content it begins and ends.
        self._citations: list[Citation] = []
        self._start = self._end = 0
        self._is_call = self._has_arguments = False

    def read(self, frame: bytes) -> list[StreamEvent]:
        """Return what one event amounts to. Raises StreamBroken, or the error it reports."""
        try:
            piece = _decode_piece(frame)
            # Nearly every piece adds to a block.
            if piece.type == "content_block_delta":
                return self._read_delta(piece.delta)
            if piece.type != "error":
                return self._read_rare(piece)
        except MALFORMED:
            if not frame.strip():
                return []
            raise invalid_stream(frame) from None
        raise read_reported_error(piece.error or ErrorObject(), frame)

    def _read_rare(self, piece: Piece) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        match piece.type:
            case "content_block_start":
                events = self._read_start(piece.content_block)
            case "content_block_stop":
                events = self._read_stop()
            case "message_start" if piece.message is not None:
                self._usage = piece.message.usage
                events = [UsageReported(None, so_far=read_usage(self._usage))]
            case "message_delta":
                events = self._read_end(piece)
            case "message_stop":
                events = [StreamEnd()]
        return events

    def _read_delta(self, delta: PieceDelta | None) -> list[StreamEvent]:
        if delta is None:
            return []
        if delta.text:
            self._end += len(delta.text)
            return [Delta(0, {"content": delta.text})]
        if delta.partial_json and self._is_call:
            self._has_arguments = True
            return [self._add_arguments(delta.partial_json)]
        if delta.thinking:
            return [self._think(delta.thinking)]
        if delta.signature:
            detail = _write_detail("text", self._thought, signature=delta.signature)
            return [Delta(0, {reasoning.FIELD: [detail]})]
        if delta.citation is not None:
            self._citations.append(delta.citation)
        return []

    @property
    def _thought(self) -> int:
        """The index of the block of thought that is open."""
        return max(self._thoughts - 1, 0)

    def _think(self, text: str) -> Delta:
        detail = _write_detail("text", self._thought, text=text)
        return Delta(0, {"reasoning": text, reasoning.FIELD: [detail]})

    def _read_start(self, block: ContentBlock | None) -> list[StreamEvent]:
        if block is None:
            return []
        self._is_call = block.type == "tool_use"
        if self._is_call:
            return self._begin_call(block)
        if block.type == "text":
            self._start, self._end = self._end, self._end + len(block.text)
            self._citations = block.citations or []
            return [Delta(0, {"content": block.text})] if block.text else []
        if block.type == "thinking":
            self._thoughts += 1
            return [self._think(block.thinking)] if block.thinking else []
        if block.type == "redacted_thinking":
            self._thoughts += 1
            detail = _write_detail("encrypted", self._thought, data=block.data)
            return [Delta(0, {reasoning.FIELD: [detail]})]
        return []

    def _begin_call(self, block: ContentBlock) -> list[StreamEvent]:
        arguments = _arguments_of(block)
        # Most come empty and are filled piece by piece.
        self._has_arguments = arguments != NO_ARGUMENTS
        function = {"name": block.name, "arguments": arguments if self._has_arguments else ""}
        call = {"index": self._calls} | _write_call(block, function)
        self._calls += 1
        return [Delta(0, {"tool_calls": [call]})]

    def _read_stop(self) -> list[StreamEvent]:
        if self._citations:
            cited = [write_citation(each, self._start, self._end) for each in self._citations]
            self._citations = []
            return [Delta(0, {"annotations": cited})]
        if not self._is_call or self._has_arguments:
            return []
        # A call without arguments has an empty object in this API, and so it has in OpenAI's.
        self._has_arguments = True
        return [self._add_arguments(NO_ARGUMENTS)]

    def _add_arguments(self, text: str) -> Delta:
        call = {"index": self._calls - 1, "function": {"arguments": text}}
        return Delta(0, {"tool_calls": [call]})

    def _read_end(self, piece: Piece) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        usage = read_usage(self._usage, piece.usage) if piece.usage is not None else None
        delta = piece.delta or PieceDelta()
        extras = _extras_of(delta.stop_sequence)
        if usage is not None or extras:
            events.append(UsageReported(usage, extras))
        reason = delta.stop_reason
        if reason is not None:
            events.append(Finish(0, FINISH_REASONS.get(reason, "stop"), None, reason))
        return events
