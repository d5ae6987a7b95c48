"""What the address of a list asks for. Anything unreadable is as if it were not there."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

MAX_NUMBER = 2**63 - 1
TEXT_CHARS = 100


def read_text(query: Mapping[str, str]) -> str:
    """Return what the list is searched for, trimmed."""
    return query.get("q", "").replace("\0", "").strip()[:TEXT_CHARS]


def read_number(query: Mapping[str, str], name: str) -> int | None:
    """Return the number, one that the database can hold."""
    text = query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_NUMBER))):
        return None
    return min(int(text), MAX_NUMBER)


def read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
