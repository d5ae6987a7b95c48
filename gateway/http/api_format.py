"""What all endpoints of one vendor's API answer alike: how an error is written, and what ids are.

An endpoint names its own. Errors that come before an endpoint is at it find theirs by the path
(gateway.endpoints.registry).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from gateway.core.errors import GatewayError
from gateway.core.profiles import Profile
from gateway.http import anthropic_errors
from gateway.http.body import FORM, JSON
from gateway.http.error_format import ErrorResponse, Rendered, render_error

RenderError = Callable[[GatewayError, str, Profile], Rendered]


class ApiFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format of an API."""

    # Returns the HTTP status and the body of an error.
    render_error: RenderError
    # What such a body is where no profile changes it.
    error_type: type[msgspec.Struct]
    # What the last event of a stream says; empty where the last one is like the others.
    stream_end: str = ""
    # What the ids of answers begin with; None for what the profile has.
    id_prefix: str | None = None
    # A header that has the request's id beside x-request-id; empty for none.
    id_header: bytes = b""
    # What a request's body is.
    body_type: bytes = JSON


OPENAI = ApiFormat(render_error=render_error, error_type=ErrorResponse, stream_end="[DONE]")
# OpenAI's endpoints whose streams end with an event of their own, and those that files go to.
OPENAI_EVENTS = replace(OPENAI, stream_end="")
OPENAI_FORMS = replace(OPENAI_EVENTS, body_type=FORM)
RESPONSES = ApiFormat(render_error=render_error, error_type=ErrorResponse, id_prefix="resp_")
ANTHROPIC = ApiFormat(
    render_error=anthropic_errors.render_error,
    error_type=anthropic_errors.AnthropicErrorResponse,
    id_prefix="msg_",
    id_header=b"request-id",
)
