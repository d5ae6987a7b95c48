"""Bodies of the API's own endpoints, which none of the formats that others define describe."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from gateway.endpoints.reading import decode

T = TypeVar("T")


def read_body(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return the body as the decoder's type. Raises InvalidJson and RequestError."""
    return decode(decoder, body, lambda param: "text of another form")
