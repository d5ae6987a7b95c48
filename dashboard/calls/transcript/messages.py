"""Messages in Anthropic's format: blocks of text, thinking, tools and their results."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.calls.transcript.transcript import Message, ToolCall, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
    indented,
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

# What the pieces of a block are called in a stream, and the member of the block they make up.
_PIECES = {"text": "text", "thinking": "thinking", "partial_json": "input"}
_LAST = frozenset({"message_stop", "error"})


def read_request(body: JsonObject) -> Transcript:
    text, parts = texts_and_parts(body.get("system"))
    messages = [Message(role="system", text=text, parts=parts)] if text or parts else []
    for given in objects_of(body.get("messages")):
        messages += _messages(given)
    return make_transcript(messages, request_facts(body))


def read_answer(body: JsonObject) -> Transcript:
    messages = []
    if "content" in body:
        message = _message(text_of(body.get("role")) or "assistant", body.get("content"))
        message.note = _stop(body)
        messages.append(message)
    return make_transcript(messages, usage_facts(body), error_of(body))


def read_stream(events: Sequence[JsonObject], is_done: bool) -> Transcript:
    blocks: dict[int, JsonObject] = {}
    pieces: dict[tuple[int, str], list[str]] = {}
    facts: dict[str, str] = {}
    stop = error = ""
    for event in events:
        is_done = is_done or text_of(event.get("type")) in _LAST
        error = error or error_of(event)
        facts |= dict(usage_facts(object_of(event.get("message")))) | dict(usage_facts(event))
        index, delta = number_of(event.get("index"), 0), object_of(event.get("delta"))
        stop = _stop(delta) or stop
        if "content_block" in event:
            blocks[index] = dict(object_of(event["content_block"]))
        for name in _PIECES.keys() & delta.keys():
            pieces.setdefault((index, name), []).append(text_of(delta[name]))
    for (index, name), texts in pieces.items():
        blocks.setdefault(index, {})[_PIECES[name]] = "".join(texts)
    message = _message("assistant", [blocks[index] for index in sorted(blocks)])
    message.note = stop
    messages = [] if message.is_empty and error else [message]
    return make_transcript(messages, list(facts.items()), error, is_stream=True, is_cut=not is_done)


def _messages(given: JsonObject) -> list[Message]:
    """Return a message, behind the results of tools that it brings."""
    content = given.get("content")
    results = [each for each in objects_of(content) if each.get("type") == "tool_result"]
    messages = []
    for result in results:
        text, parts = texts_and_parts(result.get("content"))
        note = cut(text_of(result.get("tool_use_id")))
        messages.append(Message(role="tool", text=text, parts=parts, note=note))
    rest = [each for each in objects_of(content) if each not in results]
    if rest or not results:
        role = text_of(given.get("role")) or "user"
        messages.append(_message(role, rest if isinstance(content, list) else content))
    return messages


def _message(role: str, content: object) -> Message:
    message = Message(role=role)
    rest = []
    for block in objects_of(content):
        if block.get("type") == "tool_use":
            message.tool_calls.append(_tool_call(block))
        elif isinstance(block.get("thinking"), str):
            message.reasoning += text_of(block["thinking"])
        else:
            rest.append(block)
    message.reasoning = cut(message.reasoning)
    message.text, message.parts = texts_and_parts(rest if isinstance(content, list) else content)
    return message


def _tool_call(block: JsonObject) -> ToolCall:
    given = block.get("input")
    arguments = pretty(given) if isinstance(given, str) else indented(given)
    return ToolCall(text_of(block.get("name")), text_of(block.get("id")), arguments)


def _stop(message: JsonObject) -> str:
    reason = text_of(message.get("stop_reason"))
    return f"stop reason {cut(reason)}" if reason else ""
