"""JSON, strictly (RFC 8259, I-JSON where it is stricter): what two parsers could read in two
ways is refused, because one of them decides what is allowed and the other what is done.

The decoder itself refuses NaN, numbers out of range, other encodings than UTF-8, byte order
marks and lone surrogates. Duplicate names, depth and size are looked at here.
"""

from __future__ import annotations

import re

import msgspec

from gateway.core.errors import InvalidJson
from gateway.core.octets import BACKSLASH

MAX_DEPTH = 64
MAX_NAMES = 10_000
MAX_ITEMS = 100_000
# What keeps to both has fewer: a name comes with at most two more, an item is at most two.
MAX_MARKS = 3 * MAX_NAMES + 2 * MAX_ITEMS
_encode = msgspec.json.Encoder().encode
# Every string, and the colon behind it if it is a name. One pass, linear.
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?', re.DOTALL)
# The decoder takes half a surrogate pair near the end for a body that ends too early.
TRUNCATED = "input data was truncated"
_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u)")
# Strings and brackets. A string that is not closed reaches to the end and is never tried again
# from its middle: that would be quadratic in what anybody may send.
_MARKS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def check(body: bytes, max_items: int = MAX_ITEMS) -> None:
    """Return when the body is one JSON value that everybody reads alike. Raises InvalidJson.

    Each name has a colon. Written again, a body that had a name twice has a colon less; only
    where that cannot tell (colons may hide behind escapes) are names and colons counted one by one.
    Lists have no more items than commas and brackets. max_items: of all lists together.
    """
    lists = body.count(b"[")
    if lists + body.count(b"{") > MAX_DEPTH:
        _check_depth(body)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _explain(error, body) from None
    colons = body.count(b":")
    if colons <= MAX_NAMES and body.count(b",") + lists <= max_items and BACKSLASH not in body:
        try:
            if _encode(value).count(b":") == colons:
                return
        except (OverflowError, ValueError, TypeError, RecursionError):
            pass  # it cannot be written: counted below
    names = _count_names(value, max_items)
    if colons != names and sum(map(bool, _STRINGS.findall(body))) != names:
        raise InvalidJson("The body is not valid JSON: an object has the same name twice.")


def _explain(error: Exception, body: bytes) -> InvalidJson:
    if not body.strip(b" \t\r\n"):
        reason = "it is empty"
    elif isinstance(error, UnicodeDecodeError):
        reason = "it is not UTF-8"
    elif isinstance(error, msgspec.ValidationError):
        reason = "a number is out of range"
    else:
        reason = str(error).removeprefix("JSON is malformed: ").rstrip(".")
        reason = f"{reason[:1].lower()}{reason[1:]}"
        is_half = reason == TRUNCATED and _HALF.search(body, max(len(body) - 16, 0)) is not None
        if is_half or "surrogate" in reason:
            reason = "a \\u escape is one half of a surrogate pair"
    return InvalidJson(f"The body is not valid JSON: {reason}.")


def _check_depth(body: bytes) -> None:
    """Raise InvalidJson beyond MAX_DEPTH or MAX_MARKS, before a recursive decoder sees it."""
    depth = 0
    for count, mark in enumerate(_MARKS.finditer(body)):
        if count > MAX_MARKS:
            raise too_many_items(MAX_ITEMS)
        start = body[mark.start()]
        if start in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJson(
                    f"The body is not valid JSON: it is nested deeper than {MAX_DEPTH}."
                )
        elif start in b"]}":
            depth -= 1


def _count_names(value: object, max_items: int) -> int:
    """Return how many names all objects have together.

    Raises InvalidJson beyond MAX_NAMES, or when all lists together are longer than that.
    """
    names = items = 0
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            names += len(part)
            if names > MAX_NAMES:
                raise InvalidJson(f"The body has more than {MAX_NAMES} object keys.")
            pending.extend(part.values())
        elif isinstance(part, list):
            items += len(part)
            if items > max_items:
                raise too_many_items(max_items)
            pending.extend(part)
    return names


def too_many_items(max_items: int) -> InvalidJson:
    return InvalidJson(f"The body has more than {max_items} array items.")
