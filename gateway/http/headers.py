"""What headers say about a call: its episode, its idempotency key, how strict we shall be."""

from __future__ import annotations

import re
import time
import uuid

from gateway.core.durations import gateway_us
from gateway.core.errors import RequestError
from gateway.core.ids import new_request_id
from gateway.core.receipt import Receipt
from gateway.core.request import MAX_CLIENT_ID_BYTES, RequestHead

IDEMPOTENCY_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,255}")
CLOCK_SKEW_S = 60
CLIENT_IDS = (b"x-client-request-id", b"x-request-id")
SWITCHES = (b"x-disable-fallback", b"x-require-parameters")
CHECKED_HEADERS = frozenset(CLIENT_IDS + SWITCHES)
_SWITCHED = (b"true", b"false", b"")


def read_idempotency_key(head: RequestHead) -> str:
    """Return the Idempotency-Key, or the empty string. Raises RequestError for a bad one."""
    value = head.fields.get(b"idempotency-key")
    if value is None:
        return ""
    text = value.decode("latin-1").strip()
    if not IDEMPOTENCY_KEY.fullmatch(text):
        raise RequestError(
            "The Idempotency-Key must be 1 to 255 of A-Z a-z 0-9 _ . : -", param="Idempotency-Key"
        )
    return text


def check_headers(head: RequestHead) -> None:
    """Raise RequestError for an id of the caller's that is too long to be kept, and for a switch
    that is neither on nor off: what it should forbid would happen."""
    fields = head.fields
    for name in CLIENT_IDS:
        if name in fields and len(fields[name]) > MAX_CLIENT_ID_BYTES:
            shown = name.decode().title()
            raise RequestError(f"{shown} exceeds {MAX_CLIENT_ID_BYTES} characters.", param=shown)
    for name in SWITCHES:
        if name in fields and fields[name].strip().lower() not in _SWITCHED:
            shown = name.decode()
            raise RequestError(f"{shown} must be true or false.", param=shown)


def read_episode(head: RequestHead, given: str | None) -> str:
    """Return the episode of a call: given in the body or x-episode-id, else a fresh one.

    The body is preferred, but a header that makes no sense is refused beside it too.
    Raises RequestError unless it is a UUID, and when a version 7 is of the future.
    """
    if given is None and b"x-episode-id" not in head.fields:
        return new_request_id()
    named = head.first(b"x-episode-id").decode("latin-1").strip()
    of_header = _read_episode_id(named, "x-episode-id") if named else ""
    if given is not None:
        return _read_episode_id(given, "tensorzero::episode_id")
    return of_header or new_request_id()


def _read_episode_id(given: str, param: str) -> str:
    try:
        episode = uuid.UUID(given)
    except ValueError:
        raise RequestError("The episode ID must be a UUID.", param=param) from None
    if episode.version == 7 and (episode.int >> 80) / 1000 > time.time() + CLOCK_SKEW_S:
        raise RequestError("The time in the episode ID is in the future.", param=param)
    return str(episode)


def requires_parameters(head: RequestHead) -> bool:
    """True when nothing may be dropped on the way to the provider."""
    value = head.fields.get(b"x-require-parameters")
    return value is not None and value.strip().lower() == b"true"


def server_timing(receipt: Receipt) -> bytes:
    """Return the Server-Timing value, durations in milliseconds; the parts sum to the total."""
    processors_us = receipt.processors_us if receipt.processors else 0
    return (
        b"admit;dur=%.3f, failed;dur=%.3f, upstream;dur=%.3f, gateway;dur=%.3f, total;dur=%.3f"
        % (
            (receipt.admit_us + receipt.queued_us + processors_us) / 1000,
            receipt.failed_us / 1000,
            receipt.upstream_us / 1000,
            gateway_us(receipt) / 1000,
            receipt.total_us / 1000,
        )
    )
