"""What messages may have at OpenAI, and hardly anywhere else, in words that all providers know.

A refusal becomes the text of its message. Calls of functions as they were before tools, and calls
of custom tools, become calls of tools, and so do their results.
"""

from __future__ import annotations

import re

import msgspec

from gateway.core.chat_messages import custom_arguments, function_call_id
from gateway.providers.catalogue import ProviderKind

_SEEN = re.compile(rb'"refusal"|"function_call"|"role"\s*:\s*"function"|"type"\s*:\s*"custom"')
# SDKs write them into every message that they send back, mostly as null.
_OF_ANSWERS = ("refusal", "function_call", "audio")
_ASSISTANT, _FUNCTION, _TOOL = b'"assistant"', b'"function"', msgspec.Raw(b'"tool"')
_NOTHING = frozenset({b"null", b'""', b"[]"})
_NULL = msgspec.Raw(b"null")
Message = dict[str, msgspec.Raw]
_read_objects = msgspec.json.Decoder(list[Message] | None).decode
_encode = msgspec.json.encode


class _Custom(msgspec.Struct):
    name: str
    input: str


_read_custom = msgspec.json.Decoder(_Custom).decode


def are_seen(raw: bytes, kind: ProviderKind) -> bool:
    """Return whether messages have something of this that the kind does not take."""
    return not (kind.takes_refusals and kind.takes_functions) and bool(_SEEN.search(raw))


def respell(raw: bytes, kind: ProviderKind) -> bytes | None:
    """Return messages in the kind's words, None where they are so."""
    if not are_seen(raw, kind):
        return None
    messages = _read_objects(raw) or []
    reword(messages, kind)
    return _encode(messages)


def reword(messages: list[Message], kind: ProviderKind) -> None:
    """Change the messages that have something of this. A function's result without a call before
    it stays as it is: the provider says what is wrong with it."""
    call_id = ""
    for index, message in enumerate(messages):
        role = bytes(message.get("role", b""))
        if role == _ASSISTANT:
            for name in _OF_ANSWERS:
                if not kind.takes_refusals and bytes(message.get(name, _NULL)) == b"null":
                    message.pop(name, None)
            if not kind.takes_refusals:
                _say_refusal(message)
            if not kind.takes_functions:
                call_id = _write_calls(message, index)
        elif role == _FUNCTION and call_id:
            _write_result(message, call_id)
            call_id = ""


def _say_refusal(message: Message) -> None:
    refusal = message.pop("refusal", _NULL)
    content = bytes(message.get("content", _NULL))
    if content in _NOTHING and bytes(refusal) not in _NOTHING:
        message["content"] = refusal
    elif content.startswith(b"["):
        parts = _read_objects(content) or []
        for part in parts:
            if "refusal" in part:
                part["type"], part["text"] = msgspec.Raw(b'"text"'), part.pop("refusal")
        message["content"] = msgspec.Raw(_encode(parts))


def _write_calls(message: Message, index: int) -> str:
    """Make all calls of a message calls of tools. Returns the ID of that of a function."""
    calls = _read_objects(message.get("tool_calls", _NULL)) or []
    is_changed = False
    for call in calls:
        if "custom" in call:
            custom = _read_custom(call.pop("custom"))
            function = {"name": custom.name, "arguments": custom_arguments(custom.input)}
            call["type"], call["function"] = (
                msgspec.Raw(b'"function"'),
                msgspec.Raw(_encode(function)),
            )
            is_changed = True
    call_id = ""
    function_call = message.pop("function_call", _NULL)
    if bytes(function_call) != b"null":
        call_id = function_call_id(index)
        calls.append(
            {
                "id": msgspec.Raw(_encode(call_id)),
                "type": msgspec.Raw(b'"function"'),
                "function": function_call,
            }
        )
        is_changed = True
    if is_changed:
        message["tool_calls"] = msgspec.Raw(_encode(calls))
    return call_id


def _write_result(message: Message, call_id: str) -> None:
    message.pop("name", None)
    message["role"] = _TOOL
    message["tool_call_id"] = msgspec.Raw(_encode(call_id))
    if bytes(message.get("content", _NULL)) == b"null":
        message["content"] = msgspec.Raw(b'""')
