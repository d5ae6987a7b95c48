"""IDs of stored files: what callers see is the row's UUID in base 62."""

from __future__ import annotations

import re
import string
import uuid

PREFIX = "file_"
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
CHARS = 24
_VALUES = {digit: value for value, digit in enumerate(DIGITS)}
_ID = re.compile(f"{PREFIX}([0-9A-Za-z]{{{CHARS}}})")


def write_file_id(row_id: uuid.UUID) -> str:
    """Return the ID that callers see. IDs sort by the time at which their files were made."""
    number, digits = row_id.int, []
    for _ in range(CHARS):
        number, value = divmod(number, len(DIGITS))
        digits.append(DIGITS[value])
    return PREFIX + "".join(reversed(digits))


def read_file_id(text: str) -> uuid.UUID | None:
    """Return the row's UUID; None for what was never an ID of ours."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    number = 0
    for digit in match[1]:
        number = number * len(DIGITS) + _VALUES[digit]
    return uuid.UUID(int=number) if number < 1 << 128 else None
