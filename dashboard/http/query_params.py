"""What the address of a list asks for. A filter that cannot be read does not narrow; a place in the
list that cannot be read is refused, or people would take the first page for another."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.core.exceptions import BadRequest

MAX_NUMBER = 2**63 - 1
TEXT_CHARS = 100


class UnknownPlace(BadRequest):
    """A cursor that no list has ever given. Its sentence is shown."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The address has an invalid page ({name}). Start from the first page.")


def read_text(query: Mapping[str, str]) -> str:
    """Return what the list is searched for, trimmed."""
    return query.get("q", "").replace("\0", "").strip()[:TEXT_CHARS]


def read_number(query: Mapping[str, str], name: str) -> int | None:
    """Return the number, one that the database can hold."""
    text = query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_NUMBER))):
        return None
    return min(int(text), MAX_NUMBER)


def read_id_place(query: Mapping[str, str], name: str) -> UUID | None:
    """Return the id behind which, or before which, a page of a list lies; None when not given.

    Raises UnknownPlace.
    """
    text = query.get(name, "")
    found = read_id(text)
    if text and found is None:
        raise UnknownPlace(name)
    return found


def read_number_place(query: Mapping[str, str], name: str) -> int | None:
    """The same for lists in the order of a number."""
    text = query.get(name, "")
    found = read_number(query, name)
    if text and (found is None or str(found) != text):
        raise UnknownPlace(name)
    return found


def read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
