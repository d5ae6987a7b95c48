"""What Anthropic's refusals mean: its own wordings first, then the map that all dialects share.

Reference: https://platform.claude.com/docs/en/api/errors
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.core.errors import ContextLengthExceeded, ProviderAuth, UpstreamError
from gateway.providers.upstream_errors import read_error as read_any_error

BILLING = 402
# An error inside a stream has no status, but the type that goes with one.
STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": BILLING,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_CONTEXT = re.compile(r"prompt is too long|exceed context limit", re.I)
# The account of whoever runs the gateway is empty, which is no fault of the caller's.
_CREDIT = re.compile(r"credit balance is too low", re.I)


class ErrorObject(msgspec.Struct):
    """The error of a body or an event."""

    type: str = ""
    message: str = ""


class ErrorBody(msgspec.Struct):
    """A refusal, or an event of a stream that reports an error."""

    error: ErrorObject


_decode = msgspec.json.Decoder(ErrorBody).decode


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Classify a non-2xx answer. Never raises."""
    error = read_any_error(status, headers, body)
    try:
        message = _decode(body).error.message
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return error
    if status == BILLING or (status == 400 and _CREDIT.search(message)):
        return ProviderAuth(detail=error.detail, quote=error.quote)
    if status in (400, 413) and _CONTEXT.search(message):
        return ContextLengthExceeded(detail=error.detail, quote=error.quote)
    return error


def read_reported_error(error: ErrorObject, data: bytes) -> UpstreamError:
    """Classify an error inside a stream."""
    return read_error(STATUS_OF.get(error.type, 500), {}, data)
