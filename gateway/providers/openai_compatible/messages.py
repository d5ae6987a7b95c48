"""Messages as a kind of provider takes them: whose they are, names, and earlier reasoning."""

from __future__ import annotations

import re

import msgspec

from gateway.core import reasoning
from gateway.core.chat import OF_ANSWERS, REFUSAL, ChatCall
from gateway.providers.catalogue import ProviderKind
from gateway.providers.openai_compatible import cache_marks, conversations, openai_only

THINK, THINK_END = "<think>", "</think>"
# As callers spell it, the usual spelling first.
_REASONING = ("reasoning", "reasoning_content")
# Long messages are a memoryview, which can be searched but not asked what it contains.
_DEVELOPER, _NAME = re.compile(rb'"developer"'), re.compile(rb'"name"')
_EITHER = re.compile(rb'"developer"|"name"')
_NULL = msgspec.Raw(b"null")
_SYSTEM = msgspec.Raw(b'"system"')
Message = dict[str, msgspec.Raw]
_read_messages = msgspec.json.Decoder(list[Message]).decode
_read_text = msgspec.json.Decoder(str | None).decode
_encode = msgspec.json.encode


def lost_in_messages(call: ChatCall, kind: ProviderKind) -> set[str]:
    """Return the names of fields inside the messages that this kind does not take."""
    found = set(call.payload.message_fields - OF_ANSWERS - {REFUSAL})
    if kind.takes_reasoning_details:
        found.discard(reasoning.FIELD)
    if kind.takes_cache_control:
        found.discard(cache_marks.FIELD)
    if kind.reasoning_field != "" or kind.thinks_in_content:
        found.difference_update(_REASONING)
    if not kind.takes_names:
        raw = call.payload.fields["messages"]
        if _NAME.search(raw) and any("name" in each for each in _read_messages(raw)):
            found.add("name")
    return found


def respell_messages(call: ChatCall, kind: ProviderKind) -> bytes | None:
    """Return the messages as this kind takes them, None where they are as they are."""
    raw = call.payload.fields["messages"]
    has_reasoning = kind.reasoning_field is not None and call.payload.message_fields
    lost = lost_in_messages(call, kind)
    # Nobody misses what no model reads.
    lost |= (call.payload.message_fields & OF_ANSWERS) - kind.takes_of_answers
    if not (has_reasoning or lost or _has_words(raw, kind)):
        return None
    messages = _read_messages(raw)
    for message in messages:
        if not kind.takes_developer and bytes(message.get("role", b"")) == b'"developer"':
            message["role"] = _SYSTEM
        if kind.reasoning_field is not None:
            _move_reasoning(message, kind)
        for name in lost:
            message.pop(name, None)
    openai_only.reword(messages, kind)
    return _encode(conversations.put_in_order(messages) if kind.checks_conversations else messages)


def _move_reasoning(message: Message, kind: ProviderKind) -> None:
    said = [message.pop(name, _NULL) for name in _REASONING]
    text = next((raw for raw in said if bytes(raw) not in (b"null", b'""')), None)
    if text is None:
        return
    if kind.reasoning_field:
        message[kind.reasoning_field] = text
    elif kind.thinks_in_content:
        content = bytes(message.get("content", _NULL))
        if content[:1] in (b'"', b"n"):
            whole = f"{THINK}{_read_text(text)}{THINK_END}{_read_text(content) or ''}"
            message["content"] = msgspec.Raw(_encode(whole))


def _has_words(raw: bytes, kind: ProviderKind) -> bool:
    """Return whether messages have something in them for which they must be looked into."""
    if kind.checks_conversations and conversations.are_checked(raw):
        return True
    if openai_only.are_seen(raw, kind):
        return True
    if kind.takes_names:
        return not kind.takes_developer and bool(_DEVELOPER.search(raw))
    return bool((_NAME if kind.takes_developer else _EITHER).search(raw))
