"""An error as an HTTP response: the same for consumers and for REST framework views."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import msgspec

from gateway.core.errors import GatewayError
from gateway.core.profiles import UNIFIED, Profile
from gateway.http.api_format import OPENAI, ApiFormat

Headers = list[tuple[bytes, bytes]]
# What a retry may overcome: every such answer says when to come back.
COME_AGAIN = frozenset({429, 503, 529})
# Longer waits the official SDKs would not heed: they would come again at once.
LONGEST_RETRY_S = 120


def error_response(
    error: GatewayError,
    request_id: str,
    profile: Profile = UNIFIED,
    api_format: ApiFormat = OPENAI,
) -> tuple[int, Headers, bytes]:
    """Return status, headers and body of an error, but for the headers every answer has."""
    status, rendered = api_format.render_error(error, request_id, profile)
    body = msgspec.json.encode(rendered)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    if api_format.id_header:
        headers.append((api_format.id_header, request_id.encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if allow := error.details.get("allow"):
        headers.append((b"allow", ", ".join(allow).encode()))
    if error.retry_after_s is not None or status in COME_AGAIN:
        headers.append((b"retry-after", b"%d" % max(ceil(error.retry_after_s or 1), 1)))
    should_retry = error.should_retry
    if status == 429 and (error.retry_after_s or 0) > LONGEST_RETRY_S:
        should_retry = False
    if should_retry is not None:
        headers.append((b"x-should-retry", b"true" if should_retry else b"false"))
    return status, headers + _limit_headers(error.details), body


def _limit_headers(details: Mapping[str, object]) -> Headers:
    """Return which limit or budget refused, and until when, as the body's details say it."""
    limit = details.get("limit")
    if not isinstance(limit, Mapping):
        return []
    found = {
        b"x-limit-level": details.get("level"),
        b"x-limit-metric": limit.get("metric"),
        b"x-limit-period": limit.get("period"),
        b"x-limit-resets-at": details.get("resets_at"),
    }
    return [(name, str(value).encode()) for name, value in found.items() if value]
