"""Bytes that came along in a request: base64, plain or in a data: URL.

Decoded piece by piece: a long body is read in a thread (gateway.http.long_bodies), and between
two pieces the event loop has its turn.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from gateway.core.errors import InvalidFile

# Of base64, a multiple of four: half a millisecond.
PIECE_CHARS = 256 * 1024
# A multiple of three, so that pieces of base64 can be joined.
PIECE_BYTES = 192 * 1024
# Of a data: URL that is not in base64: percent signs are undone one by one.
MAX_ESCAPED_CHARS = 1024 * 1024
WHITESPACE = b" \t\r\n\f\v"


class InlineData(NamedTuple):
    """declared: the type that a data: URL names, empty for none. is_clean: base64 without
    whitespace, which every provider takes as it is."""

    declared: str
    content: bytes
    is_clean: bool


def read_inline_data(text: str, param: str) -> InlineData:
    """Return the bytes of a data: URL (RFC 2397) or of plain base64. Raises InvalidFile."""
    if text[:5].lower() != "data:":
        return InlineData("", *_read_base64(text, param))
    head, comma, rest = text.partition(",")
    if not comma:
        raise InvalidFile("The data: URL is malformed.", param=param)
    declared, *parameters = head.lower().removeprefix("data:").split(";")
    if any(parameter.strip() == "base64" for parameter in parameters):
        return InlineData(declared.strip(), *_read_base64(rest, param))
    if len(rest) > MAX_ESCAPED_CHARS:
        limit = f"{MAX_ESCAPED_CHARS // 2**20} MB"
        raise InvalidFile(f"A data: URL larger than {limit} must be base64.", param=param)
    return InlineData(declared.strip(), unquote_to_bytes(rest), False)


def write_data_url(kind: str, content: bytes) -> str:
    """Return the data: URL of a file in the form that every provider takes."""
    return f"data:{kind};base64,{write_base64(content)}"


def write_base64(content: bytes) -> str:
    view = memoryview(content)
    return b"".join(
        binascii.b2a_base64(view[start : start + PIECE_BYTES], newline=False)
        for start in range(0, len(content), PIECE_BYTES)
    ).decode()


def _read_base64(text: str, param: str) -> tuple[bytes, bool]:
    try:
        raw = text.encode("ascii")
        try:
            content, is_clean = _decode(raw), True
        except binascii.Error:
            spaceless = b"".join(piece.translate(None, WHITESPACE) for piece in _pieces(raw))
            content, is_clean = _decode(spaceless), False
    except ValueError:
        raise InvalidFile("The data is not valid base64.", param=param) from None
    if not content:
        raise InvalidFile("The data is empty.", param=param)
    return content, is_clean


def _decode(raw: bytes) -> bytes:
    """Return the bytes of base64 without whitespace. Raises binascii.Error, a ValueError."""
    padding = raw.find(b"=")
    if 0 <= padding < len(raw) - 2:
        raise binascii.Error("padding that is not at the end")
    return b"".join(binascii.a2b_base64(piece, strict_mode=True) for piece in _pieces(raw))


def _pieces(raw: bytes) -> Iterator[bytes]:
    if len(raw) <= PIECE_CHARS:
        yield raw
        return
    for start in range(0, len(raw), PIECE_CHARS):
        yield raw[start : start + PIECE_CHARS]
