"""Bodies of the API's own endpoints, which none of the formats that others define describe."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from gateway.endpoints.reading import explain
from gateway.http.strict_json import check

T = TypeVar("T")


def read_body(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return the body as the decoder's type. Raises InvalidJson and RequestError."""
    check(body)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise explain(error, lambda param: "text of another form", decoder.type) from None
