"""What Gemini's refusals mean: its own wordings first, then the map that all dialects share.

A body is a google.rpc.Status, in an array where a stream had been asked for.
Reference: https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.core.errors import (
    ContextLengthExceeded,
    ProviderAuth,
    ProviderOverloaded,
    ProviderRateLimit,
    UpstreamError,
)
from gateway.providers.upstream_errors import MAX_RETRY_AFTER_S
from gateway.providers.upstream_errors import read_error as read_any_error

BAD_REQUEST, UNAVAILABLE = 400, 503
_CONTEXT = re.compile(
    r"(?:input )?token count\b.{0,40}\bexceeds|exceeds the maximum number of (?:input )?tokens",
    re.I,
)
# Of whoever runs the gateway: their key, their account, where they are.
_ACCOUNT = re.compile(
    r"api key (?:not valid|expired|not found)|provide a valid api key|renew the api key"
    r"|billing|location is not supported",
    re.I,
)
_KEY_REASONS = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED", "BILLING_DISABLED"})
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class Detail(msgspec.Struct, rename="camel"):
    """Of an ErrorInfo its reason, of a RetryInfo its delay."""

    reason: object = None
    retry_delay: object = None


class ErrorObject(msgspec.Struct):
    """The error of a body or an event."""

    code: int = 0
    message: str = ""
    status: str = ""
    details: list[Detail] | None = None


class ErrorBody(msgspec.Struct):
    """A refusal."""

    error: ErrorObject


_decode = msgspec.json.Decoder(ErrorBody | list[ErrorBody]).decode


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Classify a non-2xx answer. Never raises."""
    error = read_any_error(status, headers, body)
    try:
        told = _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return error
    if isinstance(told, list):
        if not told:
            return error
        told = told[0]
    meant = _read_own(status, headers, told.error, error)
    if meant is not error:
        meant.detail, meant.quote = error.detail, error.quote
    return meant


def read_reported_error(error: ErrorObject, data: bytes) -> UpstreamError:
    """Classify an error inside a stream."""
    return read_error(error.code if 400 <= error.code <= 599 else 500, {}, data)


def _read_own(
    status: int, headers: Mapping[str, str], told: ErrorObject, error: UpstreamError
) -> UpstreamError:
    """Return what the API's own words mean; the error where they add nothing."""
    details = told.details or []
    if status == BAD_REQUEST:
        is_reasoned = any(isinstance(d.reason, str) and d.reason in _KEY_REASONS for d in details)
        if is_reasoned or _ACCOUNT.search(told.message):
            return ProviderAuth()
        if _CONTEXT.search(told.message):
            return ContextLengthExceeded()
    if isinstance(error, ProviderRateLimit) and "retry-after" not in headers:
        delay_s = max((_read_delay(detail.retry_delay) for detail in details), default=0.0)
        return ProviderRateLimit(retry_after_s=delay_s) if delay_s else error
    if status == UNAVAILABLE and told.status == "UNAVAILABLE":
        return ProviderOverloaded(retry_after_s=error.retry_after_s or 1)
    return error


def _read_delay(delay: object) -> float:
    """Return the seconds of a protobuf Duration such as 37.5s, 0 for what is none."""
    found = _DELAY.fullmatch(delay) if isinstance(delay, str) else None
    return min(float(found[1]), MAX_RETRY_AFTER_S) if found else 0.0
