"""A request's body, put together from raw fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

# Fields that are the gateway's own, and stay here.
OURS = frozenset({"inferada", "plugins", "hi_tool_events", "models"})
OURS_PREFIX = "tensorzero::"
# It means that nothing is said.
NULL = b"null"


def write_body(fields: Mapping[str, bytes], changed: dict[str, bytes | None]) -> bytes:
    """Return the upstream body: the caller's fields, in their order and their own bytes, but for
    the gateway's own, which stay here, and those that are null, which many providers refuse.

    changed: fields with another value; None leaves one out.
    """
    parts: list[bytes] = []
    for name, said in {**fields, **changed}.items():
        if said is not None and said != NULL and (written := _write_name(name)):
            parts += (written, said)
    parts[0] = b"{" + parts[0][1:]
    parts.append(b"}")
    return b"".join(parts)  # once: a body may be long


def is_ours(name: str) -> bool:
    return name in OURS or name.startswith(OURS_PREFIX)


@lru_cache(maxsize=1024)
def _write_name(name: str) -> bytes:
    """Return `,"name":`, or nothing for a field of the gateway's own. Most calls have the same few
    fields."""
    return b"" if is_ours(name) else b"," + msgspec.json.encode(name) + b":"
