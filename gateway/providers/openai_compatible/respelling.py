"""What kinds of OpenAI's dialect spell differently, from the caller's spelling to theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.providers.catalogue import ProviderKind

LIMITS = ("max_tokens", "max_completion_tokens")
# Long messages are a memoryview, which can be searched but not asked what it contains.
_DEVELOPER = re.compile(rb'"developer"')
_read_messages = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def limit_to_send(call: ChatCall, kind: ProviderKind, cap_tokens: int | None) -> int | None:
    """Return the limit that goes in the place of the caller's, None when nothing is replaced."""
    if cap_tokens is not None:
        return cap_tokens
    payload = call.payload
    if not payload.has(LIMITS[1]) and (kind.takes_both_limits or kind.limit_field == LIMITS[0]):
        return None  # as most calls are
    given = [name for name in LIMITS if payload.has(name)]
    # Two limits are one too many for most providers: the smaller goes alone.
    if len(given) == 2 or (given and not kind.takes_both_limits and given[0] != kind.limit_field):
        return payload.max_tokens
    return None


def place_limit(call: ChatCall, kind: ProviderKind, limit_tokens: int) -> dict[str, bytes | None]:
    """Return both spellings of the limit, one of them left out."""
    name = kind.limit_field
    if kind.takes_both_limits:
        name = next((given for given in LIMITS if call.payload.has(given)), name)
    said: dict[str, bytes | None] = dict.fromkeys(LIMITS)
    said[name] = b"%d" % limit_tokens
    return said


def respell(
    call: ChatCall, kind: ProviderKind, ours: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Return the fields that this kind names differently, and messages without developers."""
    said: dict[str, bytes | None] = {}
    for name, theirs in kind.renames:
        if name in call.payload.fields or name in ours:
            value = ours[name] if name in ours else call.payload.fields[name]
            said[name] = None
            if value not in (None, b"null") and not call.payload.has(theirs):
                said[theirs] = value
    if not kind.takes_developer and _DEVELOPER.search(call.payload.fields["messages"]):
        said["messages"] = _without_developers(call.payload.fields["messages"])
    return said


def _without_developers(raw: bytes) -> bytes:
    messages = _read_messages(raw)
    for message in messages:
        if bytes(message.get("role", b"")) == b'"developer"':
            message["role"] = msgspec.Raw(b'"system"')
    return msgspec.json.encode(messages)
