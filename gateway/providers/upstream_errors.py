"""What a provider's refusal means: the exact map from its answers to our errors.

By status first; wording only tells apart what one status lumps together (gateway contract,
section 6.2). A message of the provider's is shown only where the request was at fault, and
then without anything that could be ours: keys and addresses are cut out. What is known to be
secret has been cut out before (gateway.providers.exchange).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.core.errors import (
    ContentFiltered,
    ContextLengthExceeded,
    ProviderAuth,
    ProviderOverloaded,
    ProviderRateLimit,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    UpstreamError,
)
from gateway.providers.missing_abilities import find_lack

MAX_MESSAGE_CHARS = 500
MAX_QUOTE_CHARS = 2_000
MAX_RETRY_AFTER_S = 3600.0
_CONTEXT = re.compile(r"context.{0,20}(length|window|size)|maximum context|too many tokens", re.I)
_POLICY = re.compile(r"content.?(filter|policy|management)|safety", re.I)
_PRIVATE = re.compile(r"https?://\S+|\b(sk|key|pk)-[\w-]{6,}|Bearer\s+\S+", re.I)


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Classify a non-2xx answer. Never raises; unknown shapes become ProviderUnavailable."""
    try:
        raw: object = msgspec.json.decode(body)
        quote = msgspec.json.encode(raw).decode()  # without escapes, which hide what is said
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raw, quote = None, body.decode(errors="replace")
    message, code = _read_message(raw)
    error = find_lack(status, message) or _classify(
        status, message, code, read_retry_after(headers)
    )
    error.detail, error.quote = f"status {status}", quote[:MAX_QUOTE_CHARS]
    return error


def _classify(status: int, message: str, code: str, retry_after_s: float | None) -> UpstreamError:
    if status in (401, 403):
        return ProviderAuth()
    if status == 429:
        return ProviderRateLimit(retry_after_s=retry_after_s or 1)
    if status == 529 or (status == 503 and "overloaded" in f"{message} {code}".lower()):
        return ProviderOverloaded(retry_after_s=retry_after_s or 1)
    if status in (408, 504):
        return ProviderTimeout()
    if status in (400, 404, 413, 422):
        return _read_rejection(status, message, code)
    return ProviderUnavailable("The provider failed.", retry_after_s=retry_after_s)


def _read_rejection(status: int, message: str, code: str) -> UpstreamError:
    wording = f"{code} {message}"
    if _CONTEXT.search(wording):
        return ContextLengthExceeded()
    if _POLICY.search(wording):
        return ContentFiltered()
    shown = _PRIVATE.sub("…", message)[:MAX_MESSAGE_CHARS]
    told = f": {shown}" if shown else f" ({status})."
    return ProviderRejected(f"The provider rejected the request{told}")


def _read_message(raw: object) -> tuple[str, str]:
    """Return the message and code of an error body in any of its usual shapes."""
    if isinstance(raw, list) and raw:
        raw = raw[0]
    error = raw.get("error", raw) if isinstance(raw, dict) else raw
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return "", ""
    message = error.get("message") or error.get("detail") or ""
    code = error.get("code") or error.get("type") or ""
    return str(message), str(code)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, or None (dates are not worth the trouble)."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(seconds, MAX_RETRY_AFTER_S) if seconds >= 0 else None
