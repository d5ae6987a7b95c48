"""The HTTP request of OpenAI's dialect, whatever its operation is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from gateway.core.grant import Grant
from gateway.snapshot.types import TargetRecord

OURS = frozenset({"inferada", "plugins", "hi_tool_events", "models"})
OURS_PREFIX = "tensorzero::"
BYTES_PER_TOKEN = 4


def write_headers(grant: Grant, target: TargetRecord, *, stream: bool = False) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        "accept-encoding": "identity",
        "user-agent": "tollhouse",
        "x-request-id": grant.identity.call_id,
    }
    if target.secret:
        headers["authorization"] = f"Bearer {target.secret}"
    return headers


def write_body(fields: Mapping[str, bytes], changed: dict[str, bytes | None]) -> bytes:
    """Return the upstream body: the caller's fields, in their order and their own bytes, but for
    the gateway's own, which stay here.

    changed: fields with another value; None leaves one out.
    """
    parts: list[bytes] = []
    for name, raw in fields.items():
        said = changed.pop(name, raw)
        if said is not None and name not in OURS and not name.startswith(OURS_PREFIX):
            parts += (_write_name(name), said)
    for name, said in changed.items():
        if said is not None:
            parts += (_write_name(name), said)
    parts[0] = b"{" + parts[0][1:]
    parts.append(b"}")
    return b"".join(parts)  # once: a body may be long


@lru_cache(maxsize=1024)
def _write_name(name: str) -> bytes:
    """Return `,"name":`. Most calls have the same few fields."""
    return b"," + msgspec.json.encode(name) + b":"
