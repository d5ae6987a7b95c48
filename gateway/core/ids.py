"""Request ids: UUIDv7, so that they sort by time. The prefix of a response id is presentation."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import uuid_utils

PREFIXES = ("chatcmpl-", "cmpl-", "gen-", "resp_", "msg_", "modr-")
# What the ids of answers begin with, by the endpoint that calls are recorded with; "" for the bare
# id. At the endpoint of chat completions the profile says it. Other answers have no id.
ANSWER_PREFIXES: Mapping[str, str] = {
    "anthropic_messages": "msg_",
    "completions": "cmpl-",
    "moderations": "modr-",
    "rerank": "",
    "responses": "resp_",
}


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
