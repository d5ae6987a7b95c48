"""An error of the Gemini API: a google.rpc.Status.

Shape and names: https://ai.google.dev/gemini-api/docs/troubleshooting and google/rpc/code.proto.
"""

from __future__ import annotations

from typing import Any

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
CODES = {status: code for code, status in STATUSES.items()} | {"FAILED_PRECONDITION": 400}
INFO, RETRY = "type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.RetryInfo"


class Refused(Exception):
    """The API does not take this request."""

    def __init__(self, message: str, status: int = 400, *, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.details = [{"@type": INFO, "reason": reason}] if reason else []


def error_body(
    code: int, message: str, *, status: str = "", details: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    named = status or STATUSES.get(code, "UNKNOWN")
    error: dict[str, Any] = {"code": code, "message": message, "status": named}
    return {"error": error | ({"details": details} if details else {})}
