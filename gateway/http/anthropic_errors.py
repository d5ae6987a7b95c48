"""Errors as Anthropic's API writes them, whatever the profile.

Reference: https://platform.claude.com/docs/en/api/errors
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.errors import GatewayError
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile

TYPE_OF: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OVERLOADED = "overloaded_error"


class AnthropicErrorObject(Struct, kw_only=True):
    """The members of Anthropic's own, and ours, which its SDKs pass over."""

    type: Annotated[str, Meta(description="By the status.")]
    message: Annotated[str, Meta(description="For people. It may change.")]
    code: Annotated[str, Meta(description="Stable.")]
    param: Annotated[str | None, Meta(description="The field of the request that is wrong.")]
    details: JsonObject | UnsetType = UNSET


class AnthropicErrorResponse(Struct, kw_only=True):
    """An error; also the event that ends a stream which cannot go on."""

    type: Literal["error"] = "error"
    error: AnthropicErrorObject
    request_id: str


def render_error(
    error: GatewayError, request_id: str, profile: Profile
) -> tuple[int, AnthropicErrorResponse]:
    """Return the HTTP status and the body of an error."""
    written = AnthropicErrorObject(
        type=type_of(error),
        message=error.message,
        code=error.code,
        param=error.param,
        details=error.details or UNSET,
    )
    return error.status, AnthropicErrorResponse(error=written, request_id=request_id)


def type_of(error: GatewayError) -> str:
    """Return Anthropic's word for the kind of error."""
    if error.type == OVERLOADED:  # ours has another status
        return OVERLOADED
    by_class = "invalid_request_error" if error.status < 500 else "api_error"
    return TYPE_OF.get(error.status, by_class)
