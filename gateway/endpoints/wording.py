"""What the decoder says of a value that does not fit, in plain words."""

from __future__ import annotations

import re
from collections.abc import Callable

# What JSON has, by the decoder's names.
KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
# In the names of what was sent: 1.0 is a number like any other, and no integer.
SENT = KINDS | {"float": "a floating-point number"}
NAMES_OF_LENGTHS = {"str": "character", "array": "item", "object": "member"}
BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_KIND = re.compile(r"Expected `([a-z |]+)`, got `([a-z]+)`")
_BOUND = re.compile(r"Expected `(?:int|float)` ([<>]=?) (-?[\d.e+]+)")
_LENGTH = re.compile(r"Expected `(str|array|object)` of length ([<>]=) (\d+)")


def in_words(reason: str) -> str:
    """Return what a value must be or have; nothing for a reason that is not known here."""
    for pattern, write in _WORDINGS.items():
        if found := pattern.fullmatch(reason):
            return write(*found.groups())
    return ""


def _write_kind(wanted: str, sent: str) -> str:
    names = wanted.split(" | ")
    if sent not in SENT or not KINDS.keys() >= {*names}:
        return ""
    # That null is the same as leaving a member out goes without saying.
    *others, last = [KINDS[name] for name in names if name != "null" or len(names) == 1]
    either = f"{', '.join(others)} or {last}" if others else last
    return f"must be {either}, not {SENT[sent]}"


def _write_bound(bound: str, number: str) -> str:
    return f"must be {BOUNDS[bound]} {number.removesuffix('.0')}"


def _write_length(kind: str, bound: str, count: str) -> str:
    plural = "" if count == "1" else "s"
    return f"must have {BOUNDS[bound]} {count} {NAMES_OF_LENGTHS[kind]}{plural}"


_WORDINGS: dict[re.Pattern[str], Callable[..., str]] = {
    _KIND: _write_kind,
    _BOUND: _write_bound,
    _LENGTH: _write_length,
}
