"""An error of the Messages API: its status, its type and its body.

Shape and types: platform.claude.com docs/en/api/errors, and the SDK's anthropic.types.shared.
"""

from __future__ import annotations

from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Refused(Exception):
    """The API does not take this request."""

    def __init__(self, message: str, status: int = 400, body: object = None) -> None:
        """body: instead of the API's own."""
        super().__init__(message)
        self.body = body
        self.message = message
        self.status = status


def type_of(status: int) -> str:
    return TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")


def error_object(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_body(status: int, message: str, request_id: str, kind: str = "") -> dict[str, Any]:
    return error_object(kind or type_of(status), message) | {"request_id": request_id}
