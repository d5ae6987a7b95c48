"""The errors for what providers send that is not what their dialect says."""

from __future__ import annotations

import msgspec

from gateway.core.errors import ProviderUnavailable, StreamBroken

# What decoding it into a type can come to; too deep JSON included.
MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MOST_QUOTED_BYTES = 2000


def invalid_answer(body: bytes) -> ProviderUnavailable:
    """Return the error of a whole answer that is none."""
    quote = repr(body[:_MOST_QUOTED_BYTES])
    return ProviderUnavailable("The provider sent an invalid response.", quote=quote)


def invalid_stream(frame: bytes) -> StreamBroken:
    """Return the error of a frame that is none of its stream."""
    quote = repr(frame[:_MOST_QUOTED_BYTES])
    return StreamBroken("The provider sent an invalid stream.", quote=quote)
