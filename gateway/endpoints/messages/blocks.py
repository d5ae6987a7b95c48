"""Pieces of an answer as the events of content blocks, and a whole message as blocks.

At most one block is open, but for pieces of a tool call that come after another one has begun, and
for citations, which are of the last text: those name their block by its index, which SDKs go by.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct

from gateway.core import reasoning
from gateway.core.events import Fields
from gateway.core.json_types import JsonObject
from gateway.core.reasoning import (
    AnyDetail,
    ReasoningEncrypted,
    ReasoningSummary,
    ReasoningText,
)
from gateway.core.tool_arguments import INVALID
from gateway.endpoints.messages.answer_schema import (
    CitationsDelta,
    CitedPage,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    InputJsonDelta,
    SaidBlock,
    SaidRedactedThinking,
    SaidText,
    SaidThinking,
    SaidToolUse,
    SignatureDelta,
    TextDelta,
    ThinkingDelta,
)
from gateway.endpoints.messages.reasoning import Carried, write_carried
from gateway.http.sse import DATA, END

TEXT, THINKING, TOOL_USE = "text", "thinking", "tool_use"
TEXT_END = b"}}" + END
_encode = msgspec.json.encode


def write_event(event: Struct) -> bytes:
    """Return an event of a stream."""
    name = type(event).__struct_config__.tag
    assert isinstance(name, str)
    return b"event: " + name.encode() + b"\n" + DATA + _encode(event) + END


class OpenCall(Struct):
    """A tool call whose pieces are coming."""

    id: str = ""
    name: str = ""
    # What came of the arguments before the name was known.
    waiting: str = ""
    # Of its block; None before that has begun.
    index: int | None = None


class BlockStream:
    """Writes the blocks of one answer."""

    def __init__(self) -> None:
        self._next = 0
        self._open = ""
        self._thought: int | None = None
        # What the signature of the open block has to carry; None for nothing.
        self._seal: Carried | None = None
        self._calls: list[OpenCall] = []
        self._call_at: dict[int, OpenCall] = {}
        # Encrypted entries that came while a tool call was open.
        self._late: list[Carried] = []
        self._before_text = b""
        # Of the last text; None before there is any.
        self._text_at: int | None = None

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def add(self, fields: Fields) -> bytes:
        """Return the events of what a delta adds."""
        content = fields.get("content")
        if self._open == TEXT and isinstance(content, str) and len(fields) == 1:
            return self._before_text + _encode(content) + TEXT_END
        frames = self._add_thoughts(fields)
        for name in ("content", "refusal"):
            text = fields.get(name)
            if isinstance(text, str) and text:
                frames += self._add_text(text)
        if self._text_at is not None:
            for page in read_citations(fields):
                frames += write_event(ContentBlockDelta(self._text_at, CitationsDelta(page)))
        calls = fields.get("tool_calls")
        if isinstance(calls, list):
            for position, piece in enumerate(calls):
                if isinstance(piece, Mapping):
                    frames += self._add_call(piece, position)
        return frames

    def close(self) -> bytes:
        """Return the events that end the last block."""
        frames = self._stop()
        for call in self._calls:
            if call.index is None:
                frames += self._begin_call(call) + self._stop()
        return frames

    def _begin(self, kind: str, block: SaidBlock) -> bytes:
        frames = self._stop()
        self._open = kind
        frames += write_event(ContentBlockStart(self._next, block))
        self._next += 1
        return frames

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        frames = b""
        if self._seal is not None:
            frames += self._change(SignatureDelta(write_carried(self._seal)))
        frames += write_event(ContentBlockStop(self._next - 1))
        self._open, self._thought, self._seal = "", None, None
        late, self._late = self._late, []
        return frames + b"".join(map(self._add_encrypted, late))

    def _change(self, delta: TextDelta | ThinkingDelta | SignatureDelta) -> bytes:
        return write_event(ContentBlockDelta(self._next - 1, delta))

    def _add_text(self, text: str) -> bytes:
        frames = b""
        if self._open != TEXT:
            frames = self._begin(TEXT, SaidText(""))
            self._text_at = self._next - 1
            whole = self._change(TextDelta(""))
            self._before_text = whole[: whole.rindex(b'""')]
        return frames + self._before_text + _encode(text) + TEXT_END

    def _add_thoughts(self, fields: Fields) -> bytes:
        details = read_details(fields)
        text = fields.get("reasoning")
        frames = b""
        if isinstance(text, str) and text and not any(map(reasoning.text_of, details)):
            frames += self._think(-1) + self._change(ThinkingDelta(text))
        for detail in details:
            frames += self._add_detail(detail)
        return frames

    def _think(self, thought: int) -> bytes:
        """Open the block of a thought unless it is."""
        if self._open == THINKING and self._thought == thought:
            return b""
        frames = self._begin(THINKING, SaidThinking("", ""))
        self._thought = thought
        return frames

    def _add_detail(self, detail: AnyDetail) -> bytes:
        if isinstance(detail, ReasoningEncrypted):
            carried = carry(detail)
            if self._open == TOOL_USE:
                self._late.append(carried)
                return b""
            return self._add_encrypted(carried)
        frames = self._think(detail.index or 0)
        if text := reasoning.text_of(detail):
            frames += self._change(ThinkingDelta(text))
        carried = carry(detail)
        if isinstance(detail, ReasoningText) and detail.signature:
            self._seal = None
            frames += self._change(SignatureDelta(seal(carried)))
        elif carried.format != reasoning.ANTHROPIC and (
            carried.id or isinstance(detail, ReasoningSummary)
        ):
            self._seal = carried
        return frames

    def _add_encrypted(self, carried: Carried) -> bytes:
        return self._begin("redacted_thinking", SaidRedactedThinking(seal(carried))) + self._stop()

    def _add_call(self, piece: Mapping[str, object], position: int) -> bytes:
        call = self._find_call(piece, position)
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call.name = call.name or _text(function.get("name"))
        arguments = call.waiting + _text(function.get("arguments"))
        if not call.name:
            call.waiting = arguments
            return b""
        frames = self._begin_call(call) if call.index is None else b""
        call.waiting = ""
        if arguments:
            assert call.index is not None
            frames += write_event(ContentBlockDelta(call.index, InputJsonDelta(arguments)))
        return frames

    def _find_call(self, piece: Mapping[str, object], position: int) -> OpenCall:
        """Return the call that a piece belongs to. Some providers give all calls one index."""
        index = piece.get("index")
        place = index if isinstance(index, int) else position
        call, call_id = self._call_at.get(place), _text(piece.get("id"))
        if call is None or (call_id and call.id and call_id != call.id):
            call = self._call_at[place] = OpenCall()
            self._calls.append(call)
        call.id = call.id or call_id
        return call

    def _begin_call(self, call: OpenCall) -> bytes:
        block = SaidToolUse(call.id or new_call_id(), call.name, {})
        frames = self._begin(TOOL_USE, block)
        call.index = self._next - 1
        return frames


def write_blocks(message: Fields) -> list[SaidBlock]:
    """Return the blocks of a whole message: thoughts, text, calls of tools."""
    details = reasoning.merge(read_details(message))
    blocks: list[SaidBlock] = []
    thought = message.get("reasoning")
    if isinstance(thought, str) and thought and not any(map(reasoning.text_of, details)):
        blocks.append(SaidThinking(thought, ""))
    for detail in details:
        carried = carry(detail)
        if isinstance(detail, ReasoningEncrypted):
            blocks.append(SaidRedactedThinking(seal(carried)))
        else:
            is_sealed = carried.data or carried.id or carried.kind == "summary"
            signature = seal(carried) if is_sealed else ""
            blocks.append(SaidThinking(reasoning.text_of(detail), signature))
    text, refusal = message.get("content"), message.get("refusal")
    if isinstance(text, str) and text:
        blocks.append(SaidText(text, read_citations(message) or UNSET))
    if isinstance(refusal, str) and refusal:
        blocks.append(SaidText(refusal))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            blocks.append(_write_call(call))
    return blocks


def read_citations(fields: Fields) -> list[CitedPage]:
    """Return the pages that a message or its last delta cites."""
    given = fields.get("annotations")
    cited = [
        one.get("url_citation")
        for one in (given if isinstance(given, list) else ())
        if isinstance(one, Mapping)
    ]
    return [
        CitedPage(url=_text(page.get("url")), title=_text(page.get("title")))
        for page in cited
        if isinstance(page, Mapping) and _text(page.get("url"))
    ]


def _write_call(call: Mapping[str, object]) -> SaidToolUse:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments = read_arguments(_text(function.get("arguments")))
    return SaidToolUse(
        _text(call.get("id")) or new_call_id(), _text(function.get("name")), arguments
    )


def read_arguments(text: str) -> JsonObject:
    """Return the input of a call."""
    try:
        return msgspec.json.decode(text, type=JsonObject) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return {INVALID: text}


def read_details(fields: Fields) -> Sequence[AnyDetail]:
    """Return the details of a delta or a message; none where a provider sent something else."""
    given = fields.get(reasoning.FIELD)
    if not given:
        return ()
    try:
        return msgspec.convert(given, list[AnyDetail])
    except msgspec.ValidationError:
        return ()


def carry(detail: AnyDetail) -> Carried:
    """Return what a block of an entry has to carry."""
    form, own_id = detail.format or "", detail.id or ""
    if isinstance(detail, ReasoningText):
        return Carried("text", form, own_id, detail.signature or "")
    if isinstance(detail, ReasoningSummary):
        return Carried("summary", form, own_id)
    return Carried("encrypted", form, own_id, detail.data)


def seal(carried: Carried) -> str:
    """Return the signature or the data of a block: Anthropic's own as it is."""
    is_theirs = carried.format == reasoning.ANTHROPIC and carried.kind != "summary"
    return carried.data if is_theirs else write_carried(carried)


def new_call_id() -> str:
    """Return the id of a tool call whose provider gave none."""
    return f"toolu_{uuid.uuid4().hex[:24]}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
