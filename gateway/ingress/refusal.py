"""An error as an HTTP response: the same for consumers and for REST framework views."""

from __future__ import annotations

from math import ceil

import msgspec

from gateway.core.errors import GatewayError
from gateway.ingress.openai_answer import write_error

Headers = list[tuple[bytes, bytes]]


def refusal(error: GatewayError, request_id: str) -> tuple[Headers, bytes]:
    """Return the headers and body of an error, but for x-request-id, which every answer has."""
    body = msgspec.json.encode(write_error(error, request_id))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if allow := error.details.get("allow"):
        headers.append((b"allow", ", ".join(allow).encode()))
    if error.retry_after_s is not None or error.status in (429, 503, 529):
        headers.append((b"retry-after", b"%d" % max(ceil(error.retry_after_s or 1), 1)))
    if error.should_retry is not None:
        headers.append((b"x-should-retry", b"true" if error.should_retry else b"false"))
    return headers, body
