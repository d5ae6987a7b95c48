"""Request ids: UUIDv7, so that they sort by time. The prefix of a response id is presentation."""

from __future__ import annotations

import uuid

import uuid_utils

PREFIXES = ("chatcmpl-", "gen-", "resp_", "msg_")


def new_request_id() -> str:
    """Return a fresh UUIDv7 in its usual text form."""
    return str(uuid_utils.uuid7())


def find_request_id(text: str) -> uuid.UUID | None:
    """Return the id meant by any spelling we ever showed, or None."""
    for prefix in PREFIXES:
        if text.startswith(prefix):
            text = text[len(prefix) :]
            break
    if len(text) not in (32, 36):
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
