"""Puts values back into an answer for the placeholders that its model was given, while it streams,
too: what may be the beginning of a placeholder waits for its end, and nothing else does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gateway.core.answer_steps import StreamFilter
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEvent,
    ToolEvent,
)
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.processing import ProcessorReport
from gateway.core.reasoning import FIELD
from gateway.processors.placeholders import Spellings

REASONING = ("reasoning", "reasoning_content")
# Texts that a stream brings in pieces, and what each is a part of.
PARTS = {"content": "content", "refusal": "refusal", **dict.fromkeys(REASONING, "reasoning")}
# The beginning of what may look like a placeholder when the rest has come.
BEGUN = re.compile(r"(?:<|\\u003[cC])[A-Z0-9_]{0,64}\\?[u03]*\Z")
Place = tuple[str | int, ...]


class Tally(Struct):
    """What was put back into an answer, counted."""

    report: ProcessorReport
    # Names of placeholders of the caller's own.
    foreign: frozenset[str]

    def add(self, restored: int, unknown: list[str]) -> None:
        details = self.report.details
        more = (restored, sum(name not in self.foreign for name in unknown))
        for name, count in zip(("restored", "unrestored"), more, strict=True):
            before = details.get(name, 0)
            assert isinstance(before, int)
            details[name] = before + count


class Restorer:
    """The values of one call.

    originals: by their placeholders. is_json: the answer's text is to be JSON. foreign: names of
    placeholders in the caller's own texts. The report is told how many placeholders were replaced,
    and how many stand in the answer that nobody was given.
    """

    def __init__(
        self,
        originals: Mapping[str, str],
        report: ProcessorReport,
        *,
        foreign: frozenset[str] = frozenset(),
        is_json: bool = False,
    ) -> None:
        self.tally = Tally(report, foreign)
        self.tally.add(0, [])
        self.json = Spellings(originals, is_json=True)
        self.plain = Spellings(originals)
        self.content = self.json if is_json else self.plain

    def add(self, originals: Mapping[str, str], foreign: frozenset[str]) -> None:
        """Have other values, too. foreign: as for a new one."""
        self.json.add(originals)
        self.plain.add(originals)
        self.tally.foreign = foreign

    def restore_event(self, event: ToolEvent) -> ToolEvent:
        """Return an event with what a tool returned as it was. It is not the model's, and not
        counted."""
        return replace(event, preview=self.plain.put_back(event.preview)[0])

    def restore(self, text: str, spellings: Spellings) -> str:
        """Return a whole text with its values."""
        self.tally.add(*spellings.count(text))
        return spellings.put_back(text)[0]

    def restore_all(self, value: JsonValue, name: str = "") -> JsonValue:
        """Return a value, the member of that name of its object, with all texts in it restored."""
        if isinstance(value, str):
            return self.restore(value, self.spellings_of(name)) if "INF_" in value else value
        if isinstance(value, list):
            return [self.restore_all(one, name) for one in value]
        if isinstance(value, Mapping):
            return {key: self.restore_all(one, key) for key, one in value.items()}
        return value

    def spellings_of(self, name: str) -> Spellings:
        """Return how placeholders are written in the member of that name of a message."""
        if name == "arguments":
            return self.json
        return self.content if name == "content" else self.plain


class RestoreStep:
    """An AnswerStep (gateway.core.answer_steps)."""

    needs: Literal["stream", "answer"] = "stream"

    def __init__(self, restorer: Restorer) -> None:
        self._restorer = restorer

    def open_filter(self) -> StreamFilter:
        return RestoringFilter(self._restorer)

    async def change(self, answer: Answer) -> Answer:
        assert isinstance(answer, ChatAnswer)
        events = tuple(map(self._restorer.restore_event, answer.tool_events))
        choices = tuple(map(self._change, answer.choices))
        return replace(answer, choices=choices, tool_events=events)

    def _change(self, choice: Choice) -> Choice:
        message = {
            name: self._restorer.restore_all(value, name) for name, value in choice.message.items()
        }
        return replace(choice, message=message)


class RestoringFilter:
    """A StreamFilter."""

    def __init__(self, restorer: Restorer) -> None:
        self._restorer = restorer
        self._choices: dict[int, ChoiceRestoring] = {}

    def feed(self, events: list[StreamEvent]) -> list[StreamEvent]:
        ready: list[StreamEvent] = []
        for event in events:
            match event:
                case Delta():
                    ready += self._choice(event.index).take(event)
                case Finish():
                    ready += [*self._choice(event.index).flush(), event]
                case ToolEvent():
                    ready += [*self.finish(), self._restorer.restore_event(event)]
                case _:
                    ready.append(event)
        return ready

    def finish(self) -> list[StreamEvent]:
        return [delta for choice in self._choices.values() for delta in choice.flush()]

    def _choice(self, index: int) -> ChoiceRestoring:
        if index not in self._choices:
            self._choices[index] = ChoiceRestoring(self._restorer, index)
        return self._choices[index]


class ChoiceRestoring:
    """One choice of a stream."""

    def __init__(self, restorer: Restorer, index: int) -> None:
        self._restorer = restorer
        self._index = index
        self._held: dict[Place, HeldText] = {}
        # What is said now: content, refusal, reasoning or calls.
        self._part = ""

    def take(self, delta: Delta) -> list[Delta]:
        """Return what is to go on of a piece, and what was held back before it."""
        parts = {part for name, value in delta.fields.items() if (part := part_of(name, value))}
        if len(parts) > 1:
            return [one for piece in split(delta) for one in self.take(piece)]
        before: list[Delta] = []
        if parts and self._part not in parts:
            # Nothing that was begun before can end here.
            before = self.flush()
            [self._part] = parts
        fields: JsonObject = {}
        for name, value in delta.fields.items():
            changed = self._restore(name, value)
            if changed not in ("", []) or value in ("", []):
                fields[name] = changed
        if fields or delta.logprobs is not None:
            return [*before, replace(delta, fields=fields)]
        return before

    def flush(self) -> list[Delta]:
        """Return what was held back: it was no placeholder."""
        fields: JsonObject = {}
        for place, held in self._held.items():
            if text := held.flush():
                add_text(fields, place, text)
        return [Delta(self._index, fields)] if fields else []

    def _restore(self, name: str, value: JsonValue) -> JsonValue:
        match value:
            case str() if name in PARTS:
                return self._push((name,), value, self._restorer.spellings_of(name))
            case list() if name == "tool_calls":
                return [one for n, call in enumerate(value) for one in self._call(call, n)]
            case list() if name == FIELD:
                return [one for n, detail in enumerate(value) for one in self._detail(detail, n)]
            case {"arguments": str()} if name == "function_call":
                arguments = self._push((name,), str(value["arguments"]), self._restorer.json)
                return {**value, "arguments": arguments}
        return self._restorer.restore_all(value, name)

    def _call(self, call: JsonValue, position: int) -> list[JsonValue]:
        """Return a piece of a tool call, or nothing where all of it is held back."""
        if not isinstance(call, dict):
            return [call]
        index = call.get("index", position)
        changed = dict(call)
        for kind, name, spellings in (
            ("function", "arguments", self._restorer.json),
            ("custom", "input", self._restorer.plain),
        ):
            inner = call.get(kind)
            if isinstance(inner, dict) and isinstance(inner.get(name), str):
                text = self._push(("tool_calls", index, kind, name), inner[name], spellings)
                changed[kind] = {**inner, name: text}
                says_nothing = not text and len(inner) == 1 and not call.get("id")
                if says_nothing and inner[name]:
                    return []
        return [changed]

    def _detail(self, detail: JsonValue, position: int) -> list[JsonValue]:
        if not isinstance(detail, dict):
            return [detail]
        changed = dict(detail)
        for name in ("text", "summary"):
            if isinstance(detail.get(name), str):
                place = (FIELD, detail.get("index", position), str(detail.get("type")), name)
                text = self._push(place, detail[name], self._restorer.plain)
                if detail.get("signature"):
                    text += self._held[place].flush()
                changed[name] = text
                if not text and detail[name] and set(detail) <= {"type", "index", "format", name}:
                    return []
        return [changed]

    def _push(self, place: Place, text: str, spellings: Spellings) -> str:
        held = self._held.get(place)
        if held is None:
            self._held[place] = held = HeldText(spellings, self._restorer.tally)
        return held.push(text)


class HeldText:
    """A text that comes in pieces."""

    def __init__(self, spellings: Spellings, tally: Tally) -> None:
        self._spellings = spellings
        self._tally = tally
        self._held = ""
        # The last of what has gone on, as the model wrote it.
        self._before = ""

    def push(self, text: str) -> str:
        """Return what can go on now, its values restored."""
        if not (self._held or self._before or "<" in text or "\\" in text):
            return text
        text = self._held + text
        done, end = self._spellings.put_back(text)
        place = self._spellings.open_end(done, end)
        self._held = done[place:]
        self._count(text[: len(text) - len(self._held)])
        return done[:place]

    def flush(self) -> str:
        """Return what was held back."""
        held, self._held = self._held, ""
        return held

    def _count(self, text: str) -> None:
        """Count the placeholders of what goes on."""
        text = self._before + text
        self._tally.add(*self._spellings.count(text))
        begun = BEGUN.search(text)
        self._before = begun[0] if begun else ""


def split(delta: Delta) -> list[Delta]:
    """Return a piece as one for each part of the message that it goes on with, in their order."""
    pieces: list[tuple[str, JsonObject]] = []
    for name, value in delta.fields.items():
        part = part_of(name, value)
        if not pieces or (part and pieces[-1][0] not in ("", part)):
            pieces.append((part, {}))
        pieces[-1] = (part or pieces[-1][0], pieces[-1][1] | {name: value})
    last = len(pieces) - 1
    return [
        replace(delta, fields=fields, logprobs=delta.logprobs if n == last else None)
        for n, (_, fields) in enumerate(pieces)
    ]


def part_of(name: str, value: JsonValue) -> str:
    """Return what of a message a field of a delta goes on with; nothing where it says nothing."""
    if not value:
        return ""
    if name in PARTS:
        return PARTS[name]
    if name == FIELD:
        return "reasoning"
    return "calls" if name in ("tool_calls", "function_call") else ""


def add_text(fields: JsonObject, place: Place, text: str) -> None:
    """Add a piece of a text to the fields of a delta."""
    match place:
        case ("tool_calls", index, str(kind), str(name)):
            fields.setdefault("tool_calls", []).append({"index": index, kind: {name: text}})
        case (str(field), index, str(kind), str(name)):
            fields.setdefault(field, []).append({"type": kind, "index": index, name: text})
        case ("function_call",):
            fields["function_call"] = {"arguments": text}
        case (str(name),):
            fields[name] = text
