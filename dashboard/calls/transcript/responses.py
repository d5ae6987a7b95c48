"""Responses in OpenAI's format: items of input and output, put into messages."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.calls.transcript.transcript import Message, ToolCall, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
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

ASSISTANT = "assistant"
# The member of a call that its tool is called with.
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
# Events that bring a piece of an item: its member, and what the text is called in a list there.
_PIECES = {
    "response.output_text.delta": ("content", "text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_text.delta": ("content", "text"),
    "response.reasoning_summary_text.delta": ("summary", "text"),
    "response.function_call_arguments.delta": ("arguments", ""),
    "response.custom_tool_call_input.delta": ("input", ""),
}
_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read_request(body: JsonObject) -> Transcript:
    messages = []
    if instructions := body.get("instructions"):
        text, parts = texts_and_parts(instructions)
        messages.append(Message(role="system", text=text, parts=parts))
    given = body.get("input")
    if isinstance(given, str):
        messages.append(Message(role="user", text=cut(given)))
    messages += _messages(objects_of(given))
    return make_transcript(messages, request_facts(body, ("previous_response_id",)))


def read_answer(body: JsonObject) -> Transcript:
    messages = _messages(objects_of(body.get("output")))
    if messages:
        messages[-1].note = _status(body)
    return make_transcript(messages, usage_facts(body), error_of(body))


def read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    """The last event of a stream has all that came before it, unless the response failed."""
    items: dict[int, JsonObject] = {}
    pieces: dict[tuple[int, str], list[str]] = {}
    last: JsonObject = {}
    error = ""
    for event in events:
        kind, place = text_of(event.get("type")), number_of(event.get("output_index"), 0)
        if kind in _LAST:
            last = object_of(event.get("response"))
        elif kind == "error":
            error = error_of(event) or error_of({"error": event})
        elif "item" in event:
            items[place] = dict(object_of(event["item"]))
        elif kind in _PIECES:
            pieces.setdefault((place, kind), []).append(text_of(event.get("delta")))
    whole = read_answer(last)
    error = error or whole.error
    messages = whole.messages or _messages(_put_together(items, pieces))
    is_cut = not (is_done or last or error)
    return make_transcript(messages, whole.facts, error, is_stream=True, is_cut=is_cut)


def _put_together(
    items: dict[int, JsonObject], pieces: dict[tuple[int, str], list[str]]
) -> list[JsonObject]:
    """Return the items, those that did not come to their end with what there is of them."""
    for (place, kind), texts in pieces.items():
        item = items.get(place, {})
        member, name = _PIECES[kind]
        if not item.get(member):
            text = "".join(texts)
            item[member] = [{name: text}] if name else text
    return [items[place] for place in sorted(items)]


def _messages(items: Sequence[JsonObject]) -> list[Message]:
    """Return messages: what the assistant thinks, says and calls in one go is one of them."""
    messages: list[Message] = []
    for item in items:
        kind = text_of(item.get("type")) or "message"
        role = text_of(item.get("role")) or ASSISTANT
        if kind == "message" and role != ASSISTANT:
            text, parts = texts_and_parts(item.get("content"))
            messages.append(Message(role=role, text=text, parts=parts))
        elif kind in ("message", "reasoning") or kind in _ARGUMENTS:
            if not messages or messages[-1].role != ASSISTANT:
                messages.append(Message(role=ASSISTANT))
            _add(messages[-1], kind, item)
        elif kind.endswith("_output"):
            text, parts = texts_and_parts(item.get("output"))
            note = cut(text_of(item.get("call_id")))
            messages.append(Message(role="tool", text=text, parts=parts, note=note))
        else:
            messages.append(Message(role=cut(kind), note=cut(text_of(item.get("id")))))
    return messages


def _add(message: Message, kind: str, item: JsonObject) -> None:
    """Add an item of the assistant to its message."""
    if kind in _ARGUMENTS:
        arguments = pretty(text_of(item.get(_ARGUMENTS[kind])))
        call_id = text_of(item.get("call_id"))
        message.tool_calls.append(ToolCall(text_of(item.get("name")), call_id, arguments))
    elif kind == "reasoning":
        texts = [texts_and_parts(item.get(name))[0] for name in ("summary", "content")]
        thought = "\n".join(filter(None, texts))
        message.reasoning = _joined(message.reasoning, thought)
        if not thought:
            message.parts.append(kind)
    else:
        content = item.get("content")
        text, parts = texts_and_parts(content)
        message.text = _joined(message.text, text)
        message.parts += [part for part in parts if part != "refusal"]
        refusals = [text_of(part.get("refusal")) for part in objects_of(content)]
        message.refusal = _joined(message.refusal, *refusals)


def _joined(*texts: str) -> str:
    return cut("\n".join(filter(None, texts)))


def _status(response: JsonObject) -> str:
    reason = text_of(object_of(response.get("incomplete_details")).get("reason"))
    status = text_of(response.get("status"))
    return f"status {cut(status)}{f' ({cut(reason)})' if reason else ''}" if status else ""
