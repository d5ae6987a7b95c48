"""Where the fake upstream meets the Messages API: reads a request, and refuses it or plays it."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.anthropic.asked import read_chat
from tests.fakes.anthropic.player import MessagesPlayer
from tests.fakes.anthropic.refused import Refused, error_body
from tests.fakes.anthropic.requests import beta_members, refuse_body, refuse_headers
from tests.fakes.anthropic.vertex import is_vertex, unwrap
from tests.fakes.asked import Chat, Request
from tests.fakes.routes import RIGHT_KEY

__all__ = ["MessagesPlayer", "Refused", "list_models", "read_request", "refusal"]
MODEL = {
    "type": "model",
    "id": "fake",
    "display_name": "Fake",
    "created_at": "2026-01-01T00:00:00Z",
}


def read_request(request: Request) -> Chat:
    """Return what was asked. Raises Refused."""
    if not is_vertex(request.path):
        _refuse_caller(request)
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"The request body is not valid JSON: {error}") from None
    if is_vertex(request.path):
        body = unwrap(request, _headers_of(request), body)
    refuse_body(body, len(request.body), beta_members(_headers_of(request)))
    return read_chat(body)


def _refuse_caller(request: Request) -> None:
    right_key = RIGHT_KEY if request.path.startswith("/keyed/") else None
    refuse_headers(_headers_of(request), right_key)


def _headers_of(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers}


def list_models(request: Request) -> tuple[int, object]:
    """Return the status and the body of the list of models."""
    try:
        _refuse_caller(request)
    except Refused as error:
        return error.status, refusal(error, 0)
    ends = {"first_id": "fake", "last_id": "fake", "has_more": False}
    return 200, {"data": [MODEL], **ends}


def refusal(error: Refused, serial: int) -> object:
    return error.body or error_body(error.status, error.message, f"req_{serial:024x}")
