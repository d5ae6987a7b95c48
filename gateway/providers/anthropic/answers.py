"""Whole answers and streams of Anthropic's Messages API to our events.

Reference: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections.abc import Mapping

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
from gateway.providers.anthropic.errors import ErrorObject, read_reported_error
from gateway.providers.anthropic.usage import read_usage
from gateway.providers.base import Framing
from gateway.providers.framing.sse import SseDecoder

# Not among them: end_turn, stop_sequence, and pause_turn, which only tools of the provider's own
# bring about. They are a stop, as is whatever we do not know.
FINISH_REASONS: Mapping[str, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
NO_ARGUMENTS = "{}"
MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_encode = msgspec.json.encode


class ContentBlock(msgspec.Struct, kw_only=True):
    """A block of an answer, or the beginning of one in a stream."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class Message(msgspec.Struct):
    """A whole answer, or what is known of one when its stream begins."""

    content: list[ContentBlock]
    stop_reason: str | None = None
    usage: object = None


class PieceDelta(msgspec.Struct):
    """What a piece of a stream adds, or how the message ends."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


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
        raise ProviderUnavailable(
            "The provider sent an invalid response.", quote=repr(body[:2000])
        ) from None
    said: dict[str, object] = {"role": "assistant", "content": _join(message, "text", "text")}
    if thought := _join(message, "thinking", "thinking"):
        said["reasoning"] = thought
    if calls:
        said["tool_calls"] = calls
        said["content"] = said["content"] or None
    reason = message.stop_reason or ""
    choice = Choice(0, said, FINISH_REASONS.get(reason, "stop"), None, reason)
    return ChatAnswer((choice,), read_usage(message.usage))


def _join(message: Message, kind: str, field: str) -> str:
    return "".join(getattr(block, field) for block in message.content if block.type == kind)


def _read_call(block: ContentBlock) -> dict[str, object]:
    return _write_call(block, {"name": block.name, "arguments": _arguments_of(block)})


def _arguments_of(block: ContentBlock) -> str:
    """Return the input of a call as it was written. Raises UnicodeDecodeError."""
    arguments = bytes(block.input).decode()
    return NO_ARGUMENTS if arguments in ("null", "{ }") else arguments


def _write_call(block: ContentBlock, function: dict[str, str]) -> dict[str, object]:
    return {"id": block.id, "type": "function", "function": function}


class MessagesDecoder:
    """Events of one stream. It remembers the input's counts, which come first, and the block that
    is open."""

    __slots__ = ("_calls", "_has_arguments", "_is_call", "_usage", "framing")

    def __init__(self) -> None:
        self.framing: Framing = SseDecoder()
        self._usage: object = None
        self._calls = 0
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
            raise StreamBroken(
                "The provider sent an invalid stream.", quote=repr(frame[:2000])
            ) from None
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
            case "message_delta":
                events = self._read_end(piece)
            case "message_stop":
                events = [StreamEnd()]
        return events

    def _read_delta(self, delta: PieceDelta | None) -> list[StreamEvent]:
        if delta is None:
            return []
        if delta.text:
            return [Delta(0, {"content": delta.text})]
        if delta.partial_json and self._is_call:
            self._has_arguments = True
            return [self._add_arguments(delta.partial_json)]
        if delta.thinking:
            return [Delta(0, {"reasoning": delta.thinking})]
        return []

    def _read_start(self, block: ContentBlock | None) -> list[StreamEvent]:
        if block is None:
            return []
        self._is_call = block.type == "tool_use"
        if self._is_call:
            return self._begin_call(block)
        if block.type == "text" and block.text:
            return [Delta(0, {"content": block.text})]
        if block.type == "thinking" and block.thinking:
            return [Delta(0, {"reasoning": block.thinking})]
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
        if usage is not None:
            events.append(UsageReported(usage))
        reason = piece.delta.stop_reason if piece.delta is not None else None
        if reason is not None:
            events.append(Finish(0, FINISH_REASONS.get(reason, "stop"), None, reason))
        return events
