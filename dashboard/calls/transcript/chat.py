"""Chat completions: messages with their text, reasoning and tool calls, and the usage.

Takes whatever spelling the caller's profile has for reasoning, tool calls or errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.calls.transcript.transcript import Message, ToolCall, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
    items_of,
    number_of,
    object_of,
    objects_of,
    pretty,
    request_facts,
    text_of,
    texts_and_parts,
    usage_facts,
)
from gateway.core.json_types import JsonObject

_REASONING = ("reasoning", "reasoning_content")


def read_request(body: JsonObject) -> Transcript:
    messages = [_message(each) for each in objects_of(body.get("messages"))]
    return make_transcript(messages, request_facts(body))


def read_answer(body: JsonObject) -> Transcript:
    messages = []
    for choice in objects_of(body.get("choices")):
        message = _message(object_of(choice.get("message")), default="assistant")
        message.note = finish_of(choice)
        messages.append(message)
    return make_transcript(messages, usage_facts(body), error_of(body))


def read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    choices: dict[int, _Growing] = {}
    facts: dict[str, str] = {}
    error = ""
    for event in events:
        error = error or error_of(event)
        facts |= dict(usage_facts(event))
        for choice in objects_of(event.get("choices")):
            choices.setdefault(number_of(choice.get("index"), 0), _Growing()).add(choice)
    messages = [choices[number].message() for number in sorted(choices)]
    return make_transcript(messages, list(facts.items()), error, is_stream=True, is_cut=not is_done)


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
        delta = object_of(choice.get("delta"))
        self._role = text_of(delta.get("role")) or self._role
        self._finish = finish_of(choice) or self._finish
        self._has_audio = self._has_audio or bool(delta.get("audio"))
        for name in ("content", "refusal"):
            self._texts.setdefault(name, []).append(text_of(delta.get(name)))
        # Some profiles send reasoning under two names at once: it is one text.
        said = next((delta[name] for name in _REASONING if text_of(delta.get(name))), "")
        self._texts.setdefault("reasoning", []).append(text_of(said))
        for position, call in enumerate(items_of(delta.get("tool_calls"))):
            if isinstance(call, dict):
                self._add_call(number_of(call.get("index"), position), call)
        if isinstance(delta.get("function_call"), dict):
            self._add_call(0, {"function": delta["function_call"]})

    def message(self) -> Message:
        for index, call in self._calls.items():
            call.arguments = pretty("".join(self._pieces[index]))
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
        return cut("".join(self._texts[name]))

    def _add_call(self, index: int, call: JsonObject) -> None:
        known = self._calls.setdefault(index, ToolCall())
        function = object_of(call.get("function"))
        known.id = known.id or text_of(call.get("id"))
        known.name += text_of(function.get("name"))
        self._pieces.setdefault(index, []).append(text_of(function.get("arguments")))


def _message(given: JsonObject, default: str = "user") -> Message:
    message = Message(role=text_of(given.get("role")) or default)
    message.text, message.parts = texts_and_parts(given.get("content"))
    message.reasoning = cut(next(filter(None, (text_of(given.get(n)) for n in _REASONING)), ""))
    message.refusal = cut(text_of(given.get("refusal")))
    calls = objects_of(given.get("tool_calls"))
    if isinstance(given.get("function_call"), dict):
        calls.append({"function": given["function_call"]})
    message.tool_calls = [_tool_call(call) for call in calls]
    if given.get("audio"):
        message.parts.append("audio")
    message.note = cut(text_of(given.get("tool_call_id")) or text_of(given.get("name")))
    return message


def _tool_call(call: JsonObject) -> ToolCall:
    function = object_of(call.get("function"))
    arguments = pretty(text_of(function.get("arguments")))
    return ToolCall(text_of(function.get("name")), text_of(call.get("id")), arguments)


def finish_of(choice: JsonObject) -> str:
    reason = text_of(choice.get("finish_reason"))
    return f"finish reason {cut(reason)}" if reason else ""
