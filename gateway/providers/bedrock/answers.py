"""Whole answers and streams of Converse to our events.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from __future__ import annotations

from collections.abc import Mapping

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
from gateway.core.json_types import JsonValue
from gateway.providers.aws.errors import read_exception
from gateway.providers.base import Framing
from gateway.providers.bedrock.usage import read_usage
from gateway.providers.framing.aws_event_stream import EventStream
from gateway.providers.invalid import MALFORMED, invalid_answer, invalid_stream

# Not among them: end_turn and stop_sequence. They are a stop, as is whatever we do not know.
FINISH_REASONS: Mapping[str, str] = {
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
NO_ARGUMENTS = "{}"
_encode = msgspec.json.encode


class ReasoningText(msgspec.Struct, rename="camel"):
    """What a model thought, and the signature of it."""

    text: str = ""
    signature: str = ""


class ReasoningContent(msgspec.Struct, rename="camel"):
    """Reasoning of a whole answer."""

    reasoning_text: ReasoningText | None = None
    # In base64.
    redacted_content: str = ""


class ToolUse(msgspec.Struct, rename="camel"):
    """A call of a tool. In a stream its input comes in pieces."""

    tool_use_id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class ContentBlock(msgspec.Struct, rename="camel"):
    """A block of a whole answer. What we do not know is passed over."""

    text: str = ""
    tool_use: ToolUse | None = None
    reasoning_content: ReasoningContent | None = None


class Message(msgspec.Struct, rename="camel"):
    content: list[ContentBlock]


class Output(msgspec.Struct, rename="camel"):
    message: Message


class WholeAnswer(msgspec.Struct, rename="camel"):
    output: Output
    stop_reason: str = ""
    usage: object = None


class ReasoningPiece(msgspec.Struct, rename="camel"):
    """A piece of reasoning in a stream."""

    text: str = ""
    signature: str = ""
    redacted_content: str = ""


class ToolPiece(msgspec.Struct, rename="camel"):
    input: str = ""


class Piece(msgspec.Struct, rename="camel"):
    """What an event adds to a block."""

    text: str = ""
    tool_use: ToolPiece | None = None
    reasoning_content: ReasoningPiece | None = None


class BlockDelta(msgspec.Struct, rename="camel"):
    delta: Piece
    content_block_index: int = 0


class Start(msgspec.Struct, rename="camel"):
    tool_use: ToolUse | None = None


class BlockStart(msgspec.Struct, rename="camel"):
    start: Start
    content_block_index: int = 0


class BlockStop(msgspec.Struct, rename="camel"):
    content_block_index: int = 0


class MessageStop(msgspec.Struct, rename="camel"):
    stop_reason: str


class Metadata(msgspec.Struct, rename="camel"):
    usage: object = None


class Event(msgspec.Struct, rename="camel"):
    """One event of a stream: one of these."""

    content_block_delta: BlockDelta | None = None
    content_block_start: BlockStart | None = None
    content_block_stop: BlockStop | None = None
    message_stop: MessageStop | None = None
    metadata: Metadata | None = None


class Failure(msgspec.Struct, rename="camel"):
    code: str = ""


_decode_answer = msgspec.json.Decoder(WholeAnswer).decode
_decode_event = msgspec.json.Decoder(Event).decode
_decode_any = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_failure = msgspec.json.Decoder(Failure).decode


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole answer. Raises ProviderUnavailable when it makes no sense."""
    try:
        answer = _decode_answer(body)
        blocks = answer.output.message.content
        calls = [_read_call(block.tool_use) for block in blocks if block.tool_use is not None]
    except MALFORMED:
        raise invalid_answer(body) from None
    said: dict[str, JsonValue] = {
        "role": "assistant",
        "content": "".join(block.text for block in blocks),
    }
    thoughts = [block.reasoning_content for block in blocks if block.reasoning_content is not None]
    if thoughts:
        said |= _read_thoughts(thoughts)
    if calls:
        said["tool_calls"] = calls
        said["content"] = said["content"] or None
    reason = answer.stop_reason
    choice = Choice(0, said, FINISH_REASONS.get(reason, "stop"), None, reason)
    return ChatAnswer((choice,), read_usage(answer.usage))


def _read_thoughts(thoughts: list[ReasoningContent]) -> dict[str, JsonValue]:
    details: list[JsonValue] = []
    text = ""
    for index, thought in enumerate(thoughts):
        if (readable := thought.reasoning_text) is not None:
            text += readable.text
            details.append(_write_text(index, readable.text, readable.signature))
        elif thought.redacted_content:
            details.append(_write_encrypted(index, thought.redacted_content))
    said: dict[str, JsonValue] = {"reasoning": text} if text else {}
    return said | ({reasoning.FIELD: details} if details else {})


def _read_call(call: ToolUse) -> dict[str, JsonValue]:
    """Return a call. Raises UnicodeDecodeError."""
    arguments = bytes(call.input).decode()
    return {
        "id": call.tool_use_id,
        "type": "function",
        "function": {
            "name": call.name,
            "arguments": NO_ARGUMENTS if arguments == "null" else arguments,
        },
    }


def _write_text(index: int, text: str, signature: str) -> JsonValue:
    said = {"text": text, "signature": signature}
    present = {name: value for name, value in said.items() if value}
    return reasoning.write("text", index, reasoning.BEDROCK, **present)


def _write_encrypted(index: int, data: str) -> JsonValue:
    return reasoning.write("encrypted", index, reasoning.BEDROCK, data=data)


class ConverseDecoder:
    """Events of one stream. It remembers the call that is open."""

    __slots__ = ("_calls", "_has_arguments", "_is_call", "framing")

    def __init__(self) -> None:
        self.framing: Framing = EventStream()
        self._calls = 0
        self._is_call = self._has_arguments = False

    def read(self, frame: bytes) -> list[StreamEvent]:
        """Return what one event amounts to. Raises StreamBroken, or the error it reports."""
        try:
            event = _decode_event(frame)
            # Nearly every event adds to a block.
            if event.content_block_delta is not None:
                return self._read_delta(event.content_block_delta)
            if event.content_block_start is not None:
                return self._begin_block(event.content_block_start.start.tool_use)
            if event.content_block_stop is not None:
                return self._end_block()
            if event.message_stop is not None:
                reason = event.message_stop.stop_reason
                return [Finish(0, FINISH_REASONS.get(reason, "stop"), None, reason)]
            if event.metadata is not None:
                usage = read_usage(event.metadata.usage)
                reported: list[StreamEvent] = [] if usage is None else [UsageReported(usage)]
                return [*reported, StreamEnd()]
            self._read_failure(frame)
        except MALFORMED:
            raise invalid_stream(frame) from None
        return []

    def _read_delta(self, given: BlockDelta) -> list[StreamEvent]:
        delta = given.delta
        if delta.text:
            return [Delta(0, {"content": delta.text})]
        if delta.tool_use is not None and delta.tool_use.input and self._is_call:
            self._has_arguments = True
            return [self._add_arguments(delta.tool_use.input)]
        thought = delta.reasoning_content
        if thought is None:
            return []
        index = given.content_block_index
        if thought.redacted_content:
            detail = _write_encrypted(index, thought.redacted_content)
            return [Delta(0, {reasoning.FIELD: [detail]})]
        if not (thought.text or thought.signature):
            return []
        detail = _write_text(index, thought.text, thought.signature)
        said: dict[str, JsonValue] = {reasoning.FIELD: [detail]}
        return [Delta(0, {"reasoning": thought.text} | said if thought.text else said)]

    def _begin_block(self, call: ToolUse | None) -> list[StreamEvent]:
        self._is_call = call is not None
        if call is None:
            return []
        self._has_arguments = False
        function = {"name": call.name, "arguments": ""}
        said: dict[str, JsonValue] = {"index": self._calls, "id": call.tool_use_id}
        self._calls += 1
        return [Delta(0, {"tool_calls": [said | {"type": "function", "function": function}]})]

    def _end_block(self) -> list[StreamEvent]:
        is_empty_call = self._is_call and not self._has_arguments
        self._is_call = False
        # A call without arguments has an empty object in OpenAI's API.
        return [self._add_arguments(NO_ARGUMENTS)] if is_empty_call else []

    def _add_arguments(self, text: str) -> Delta:
        call: JsonValue = {"index": self._calls - 1, "function": {"arguments": text}}
        return Delta(0, {"tool_calls": [call]})

    def _read_failure(self, frame: bytes) -> None:
        """Raise what an event that is none of the others reports, unless it is news to us."""
        for name, payload in _decode_any(frame).items():
            if name == "error":
                raise read_exception(_decode_failure(payload).code, bytes(payload))
            if name.lower().endswith("exception"):
                raise read_exception(name, bytes(payload))
