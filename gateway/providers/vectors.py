"""The vectors of an answer, as providers write them."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Sequence

import msgspec

from gateway.core.embeddings import FLOAT_BYTES, Vector
from gateway.core.errors import ProviderUnavailable

# Of JSON text, what an array of numbers consists of.
_NUMBERS = b"0123456789+-.eE, \t\r\n"
_read_text = msgspec.json.Decoder(str).decode


def read_vector(raw: msgspec.Raw) -> Vector:
    """Return the vector as it came. Raises ValueError or msgspec.DecodeError for what is none."""
    text = bytes(raw)
    if text.startswith(b'"'):
        encoded = _read_text(text)
        size = len(a2b_base64(encoded, strict_mode=True))
        if not size or size % FLOAT_BYTES:
            raise ValueError("These are no 32-bit floats.")
        return encoded
    return read_numbers(raw)


def read_numbers(raw: msgspec.Raw) -> msgspec.Raw:
    """Return a vector that has to be an array of numbers. Raises ValueError for what is none."""
    text = bytes(raw)
    # It is JSON: of these signs alone it is an array of numbers. Reading them would take as long
    # as all the rest.
    if text.translate(None, _NUMBERS) != b"[]" or not text[1:-1].strip():
        raise ValueError("This is no array of numbers.")
    return msgspec.Raw(text)


def read_all_numbers(found: Sequence[msgspec.Raw], wanted: int) -> list[Vector]:
    """Return as many vectors as are wanted, in their order. Raises ValueError for what are none,
    ProviderUnavailable for more or fewer of them."""
    if len(found) != wanted:
        raise ProviderUnavailable(
            "The provider sent more embeddings than were requested."
            if len(found) > wanted
            else "The provider sent fewer embeddings than were requested."
        )
    return [read_numbers(raw) for raw in found]
