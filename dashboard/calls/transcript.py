"""Stored bodies made readable: messages with their text, reasoning and tool calls, and the usage.

Takes every form in which answers are stored: one JSON object, or the events of a stream put
together, in whatever spelling the caller's profile has for reasoning, tool calls or errors; cut off
anywhere. What is not understood is left to the raw text that stands beside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from gateway.core.json_types import JsonObject

MAX_CHARS = 100_000  # of one text: a page has to stay a page
MAX_MESSAGES = 200
_REASONING = ("reasoning", "reasoning_content")
_DONE = "[DONE]"


@dataclass(slots=True)
class ToolCall:
    """A function that the model wants called. arguments: JSON, indented where it is whole."""

    name: str = ""
    id: str = ""
    arguments: str = ""


@dataclass(slots=True, kw_only=True)
class Message:
    """One message. note: what it answers, or why it ended. parts: what is no text, in words."""

    role: str
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.reasoning or self.refusal or self.tool_calls or self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said. facts: usage and the like as (words, value). error: what ended it. is_cut:
    the stored stream stops before its end. more: how many messages are not shown."""

    messages: Sequence[Message] = ()
    facts: Sequence[tuple[str, str]] = ()
    error: str = ""
    is_stream: bool = False
    is_cut: bool = False
    more: int = 0

    @property
    def is_readable(self) -> bool:
        return bool(self.messages or self.error)


def read_request(text: str) -> Transcript:
    """Return the messages of a request's body."""
    body = _parse(text)
    if not isinstance(body, dict):
        return Transcript()
    messages = [_message(each) for each in _list(body.get("messages")) if isinstance(each, dict)]
    tools = [name for name in map(_tool_name, _list(body.get("tools"))) if name]
    facts = [(name, _shown(body[name])) for name in ("model", "stream") if name in body]
    facts += [("tools", _cut(", ".join(tools)))] if tools else []
    return _transcript(messages, facts)


def read_response(text: str) -> Transcript:
    """Return what was answered, put together where it was streamed."""
    body = _parse(text)
    if isinstance(body, dict):
        return _read_answer(body)
    events, is_done = _events(text)
    if not events:
        return Transcript()
    return _read_stream(events, is_done)


def _read_answer(body: JsonObject) -> Transcript:
    messages = []
    for choice in _list(body.get("choices")):
        if isinstance(choice, dict):
            given = choice.get("message")
            message = _message(given if isinstance(given, dict) else {}, default="assistant")
            message.note = _finish(choice)
            messages.append(message)
    return _transcript(messages, _facts(body), _error(body))


def _read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    choices: dict[int, _Growing] = {}
    facts: dict[str, str] = {}
    error = ""
    for event in events:
        error = error or _error(event)
        facts |= dict(_facts(event))
        for choice in _list(event.get("choices")):
            if isinstance(choice, dict):
                index = choice.get("index")
                number = index if isinstance(index, int) else 0
                choices.setdefault(number, _Growing()).add(choice)
    messages = [choices[number].message() for number in sorted(choices)]
    return _transcript(messages, list(facts.items()), error, is_stream=True, is_cut=not is_done)


def _transcript(
    messages: Sequence[Message],
    facts: Sequence[tuple[str, str]],
    error: str = "",
    *,
    is_stream: bool = False,
    is_cut: bool = False,
) -> Transcript:
    """Return the transcript with as many of the messages as a page shows."""
    more = max(0, len(messages) - MAX_MESSAGES)
    return Transcript(
        messages=messages[:MAX_MESSAGES],
        facts=facts,
        error=error,
        is_stream=is_stream,
        is_cut=is_cut,
        more=more,
    )


class _Growing:
    """A choice of a stream, piece by piece."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, ToolCall] = {}
        self._pieces: dict[int, list[str]] = {}
        self._role = "assistant"
        self._finish = ""
        self._has_audio = False

    def add(self, choice: JsonObject) -> None:
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        self._role = _text(delta.get("role")) or self._role
        self._finish = _finish(choice) or self._finish
        self._has_audio = self._has_audio or bool(delta.get("audio"))
        for name in ("content", "refusal"):
            self._texts.setdefault(name, []).append(_text(delta.get(name)))
        # Some profiles send reasoning under two names at once: it is one text.
        said = next((delta[name] for name in _REASONING if _text(delta.get(name))), "")
        self._texts.setdefault("reasoning", []).append(_text(said))
        for position, call in enumerate(_list(delta.get("tool_calls"))):
            if isinstance(call, dict):
                index = call.get("index")
                self._add_call(index if isinstance(index, int) else position, call)
        if isinstance(delta.get("function_call"), dict):
            self._add_call(0, {"function": delta["function_call"]})

    def message(self) -> Message:
        for index, call in self._calls.items():
            call.arguments = _pretty("".join(self._pieces[index]))
        return Message(
            role=self._role,
            text=self._said("content"),
            reasoning=self._said("reasoning"),
            refusal=self._said("refusal"),
            tool_calls=[self._calls[index] for index in sorted(self._calls)],
            parts=["audio"] if self._has_audio else [],
            note=self._finish,
        )

    def _said(self, name: str) -> str:
        return _cut("".join(self._texts[name]))

    def _add_call(self, index: int, call: JsonObject) -> None:
        known = self._calls.setdefault(index, ToolCall())
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        known.id = known.id or _text(call.get("id"))
        known.name += _text(function.get("name"))
        self._pieces.setdefault(index, []).append(_text(function.get("arguments")))


def _message(given: JsonObject, default: str = "user") -> Message:
    message = Message(role=_text(given.get("role")) or default)
    content = given.get("content")
    texts = [_text(content)] if not _is_list(content) else []
    for part in _list(content):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict):
            message.parts.append(_cut(_text(part.get("type")) or "a part"))
    message.text = _cut("\n".join(filter(None, texts)))
    message.reasoning = _cut(next(filter(None, (_text(given.get(n)) for n in _REASONING)), ""))
    message.refusal = _cut(_text(given.get("refusal")))
    calls = [call for call in _list(given.get("tool_calls")) if isinstance(call, dict)]
    if isinstance(given.get("function_call"), dict):
        calls.append({"function": given["function_call"]})
    message.tool_calls = [_tool_call(call) for call in calls]
    if given.get("audio"):
        message.parts.append("audio")
    message.note = _cut(_text(given.get("tool_call_id")) or _text(given.get("name")))
    return message


def _tool_call(call: JsonObject) -> ToolCall:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = _pretty(_text(function.get("arguments")))
    return ToolCall(_text(function.get("name")), _text(call.get("id")), arguments)


def _tool_name(tool: object) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    return _text(function.get("name")) if isinstance(function, dict) else ""


def _finish(choice: JsonObject) -> str:
    reason = _text(choice.get("finish_reason"))
    return f"finish reason {_cut(reason)}" if reason else ""


def _facts(body: JsonObject) -> list[tuple[str, str]]:
    """Return the usage of an answer or of a chunk."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return []
    flat = {name: value for name, value in usage.items() if not isinstance(value, dict)}
    for details in ("prompt_tokens_details", "completion_tokens_details"):
        inner = usage.get(details)
        flat |= inner if isinstance(inner, dict) else {}
    return [(name.replace("_", " "), _shown(value)) for name, value in flat.items() if value]


def _error(body: JsonObject) -> str:
    error = body.get("error")
    if isinstance(error, dict):
        code = _text(error.get("code")) or _text(error.get("type"))
        return _cut(": ".join(filter(None, (code, _text(error.get("message"))))))
    return _cut(_text(error))


def _events(text: str) -> tuple[list[JsonObject], bool]:
    """Return the JSON objects of a stream's events, and whether it came to its end."""
    events: list[JsonObject] = []
    is_done = False
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == _DONE:
            is_done = True
        elif data and isinstance(event := _parse(data), dict):
            events.append(event)
    return events, is_done


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _pretty(text: str) -> str:
    found = _parse(text)
    if found is None:
        return _cut(text)
    try:
        return _cut(json.dumps(found, indent=2, ensure_ascii=False))
    except RecursionError:
        return _cut(text)


def _shown(value: object) -> str:
    """Write a value of JSON as people do: true, not True; 0.0000081, not 8.1e-06."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return _cut(f"{Decimal(str(value)):f}" if isinstance(value, float) else str(value))


def _text(value: object) -> str:
    """Return a text that can be written as UTF-8, "" for all that is none."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _cut(text: str) -> str:
    text = _text(text)
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}\n({len(text) - MAX_CHARS:,} more characters)"


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _list(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()
