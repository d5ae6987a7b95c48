"""Conversations of providers that check them as Mistral does.

The ID of a tool call is nine letters or digits; results of tools follow their calls; the assistant
speaks between them and the user; a system's message follows neither of them and is not the last; a
last message of the assistant is marked as the beginning of the answer; and a function has
parameters.
https://mistralai.github.io/mistral-common/ and docs.mistral.ai/api (FunctionTool)
"""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec

ID_CHARS = 9
_ID = re.compile(rb'"[A-Za-z0-9]{9}"')
# What there is to look into in messages, and in tools.
_CHECKED = re.compile(rb'"tool_call_id"|"system"|"developer"|"assistant"')
_USER, _ASSISTANT, _TOOL, _SYSTEM = (b'"user"', b'"assistant"', b'"tool"', b'"system"')
_SPOKEN = frozenset({_ASSISTANT, _TOOL})
_NO_PARAMETERS = msgspec.Raw(b'{"type":"object","properties":{}}')
Message = dict[str, msgspec.Raw]
_ACKNOWLEDGED: Message = {"role": msgspec.Raw(_ASSISTANT), "content": msgspec.Raw(b'"OK."')}
_read_calls = msgspec.json.Decoder(list[Message] | None).decode
_read_object = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.encode


def are_checked(raw: bytes) -> bool:
    """Return whether messages have something in them that is checked."""
    return bool(_CHECKED.search(raw))


def put_in_order(messages: list[Message]) -> list[Message]:
    """Return messages that pass the checks. Those of the system that come too late come first."""
    late: list[Message] = []
    rest: list[Message] = []
    before = b""
    messages = _with_results_first(messages)
    _have_user_ask(messages)
    for message in messages:
        role = bytes(message.get("role", b""))
        if role == _SYSTEM and before in _SPOKEN:
            late.append(message)
            continue
        if role == _USER and before == _TOOL:
            rest.append(_ACKNOWLEDGED)
        _shorten_ids(message)
        rest.append(message)
        before = role
    last = messages[-1]
    is_begun = bytes(last.get("role", b"")) == _ASSISTANT
    if is_begun and bytes(last.get("tool_calls", b"null")) in (b"null", b"[]"):
        last["prefix"] = msgspec.Raw(b"true")
    leading = 0
    while leading < len(rest) and bytes(rest[leading].get("role", b"")) == _SYSTEM:
        leading += 1
    return [*rest[:leading], *late, *rest[leading:]]


def _with_results_first(messages: list[Message]) -> list[Message]:
    """Return messages in which nothing stands between the calls of an answer and their results."""
    ordered: list[Message] = []
    behind_results: int | None = None
    for message in messages:
        role = bytes(message.get("role", b""))
        if role == _TOOL and behind_results is not None:
            ordered.insert(behind_results, message)
            behind_results += 1
            continue
        ordered.append(message)
        if role == _ASSISTANT:
            behind_results = len(ordered)
    return ordered


def _have_user_ask(messages: list[Message]) -> None:
    """Make a system's message at the end the user's, unless results of tools are to be answered."""
    roles = [bytes(message.get("role", b"")) for message in messages[-2:]]
    if roles[-1:] == [_SYSTEM] and roles[0] != _TOOL:
        messages[-1]["role"] = msgspec.Raw(_USER)


def complete_tools(raw: bytes) -> bytes | None:
    """Return the tools, those without parameters with none of them; None where all have some."""
    tools = _read_calls(raw) or []
    is_changed = False
    for tool in tools:
        function = _read_object(tool["function"]) if "function" in tool else {}
        if function and "parameters" not in function:
            tool["function"] = msgspec.Raw(_encode({**function, "parameters": _NO_PARAMETERS}))
            is_changed = True
    return _encode(tools) if is_changed else None


def _shorten_ids(message: Message) -> None:
    if "tool_call_id" in message:
        message["tool_call_id"] = _short(message["tool_call_id"])
    if calls := _read_calls(message.get("tool_calls", b"null")):
        for call in calls:
            if "id" in call:
                call["id"] = _short(call["id"])
        message["tool_calls"] = msgspec.Raw(_encode(calls))


def _short(raw: msgspec.Raw) -> msgspec.Raw:
    """Return an ID that will do, the same for the same: a call and its result have to match."""
    if _ID.fullmatch(raw):
        return raw
    return msgspec.Raw(_encode(sha256(bytes(raw)).hexdigest()[:ID_CHARS]))
