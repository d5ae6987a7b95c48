"""How each profile renders an error (gateway contract, sections 7.5.1 to 7.5.3).

The `error` object with a message is always there: official SDKs read nothing else. Profiles
respell its code and type or add members; none takes the object away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.errors import GatewayError, InvalidJson, UpstreamError
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile


class ErrorObject(Struct, kw_only=True):
    message: Annotated[str, Meta(description="For people. It may change.")]
    type: str
    code: Annotated[
        str | int,
        Meta(description="Stable. The HTTP status where the profile is bud."),
    ]
    param: Annotated[str | None, Meta(description="The field of the request that is wrong.")]
    request_id: str
    details: JsonObject | UnsetType = UNSET


class ErrorResponse(Struct):
    error: ErrorObject


Rendered = tuple[int, Struct | JsonObject]

# The stable taxonomy of hyperinfer, each code at its only status.
TAXONOMY: Mapping[str, int] = {
    "provider_auth": 502,
    "provider_rate_limit": 429,
    "provider_overloaded": 529,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "provider_timeout": 504,
    "provider_unavailable": 502,
    "insufficient_credits": 402,
    "key_limit_exceeded": 402,
    "model_not_allowed": 403,
    "invalid_api_key": 401,
    "workspace_locked": 403,
    "rate_limit_exceeded": 429,
    "invalid_request": 400,
    "payload_too_large": 413,
    "internal_error": 500,
}
TO_TAXONOMY: Mapping[str, str] = {
    "insufficient_scope": "invalid_api_key",
    "ip_not_allowed": "invalid_api_key",
    "request_blocked": "invalid_api_key",
    "limit_exceeded": "rate_limit_exceeded",
    "concurrency_limit_exceeded": "rate_limit_exceeded",
    "no_upstream_available": "provider_unavailable",
    "database_unavailable": "provider_unavailable",
    "storage_unavailable": "provider_unavailable",
    "server_restarting": "provider_unavailable",
    "overloaded": "provider_unavailable",
}
UPPER_BY_STATUS: Mapping[int, str] = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHORIZED",
    402: "PAYMENT_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "VALIDATION_ERROR",
    409: "CONFLICT",
    413: "PAYLOAD_TOO_LARGE",
    422: "VALIDATION_ERROR",
    429: "RATE_LIMITED",
    500: "INTERNAL_ERROR",
}
INFERADA_TYPES: Mapping[int, str] = {
    401: "authentication_failed",
    402: "insufficient_credits",
    403: "forbidden",
    404: "not_found",
    422: "policy_rejection",
    429: "limit_exceeded",
}


def render_error(error: GatewayError, request_id: str, profile: Profile) -> Rendered:
    """Return the HTTP status and the body of an error."""
    found = ErrorObject(
        message=error.message,
        type=error.type,
        code=error.code,
        param=error.param,
        request_id=request_id,
        details=error.details or UNSET,
    )
    renderer = _RENDERERS.get(profile.name)
    if renderer is None:
        return error.status, ErrorResponse(found)
    body = msgspec.structs.asdict(found)
    if not error.details:
        del body["details"]
    return renderer(error, body)


def _inferada(error: GatewayError, body: JsonObject) -> Rendered:
    fallback = "invalid_request" if error.status < 500 else "service_failure"
    flat: JsonObject = {
        "type": INFERADA_TYPES.get(error.status, fallback),
        "code": error.status,
        "message": error.message,
        "request_id": body["request_id"],
    }
    if error.status == 429:
        known = ("scope", "model_id", "level", "limit", "current", "requested")
        flat["scope"] = "completions"
        flat |= {name: error.details[name] for name in known if name in error.details}
    return error.status, {"error": body, **flat}


def _bud(error: GatewayError, body: JsonObject) -> Rendered:
    types = {402: "insufficient_quota", 429: "rate_limit_error"}
    fallback = "invalid_request_error" if error.status < 500 else "server_error"
    rendered: JsonObject = {
        "error": {
            **body,
            "code": error.status,
            "type": types.get(error.status, fallback),
        }
    }
    if isinstance(error, UpstreamError):
        rendered["provider_error"] = {"code": error.code, "message": error.message}
    return error.status, rendered


def _infery(error: GatewayError, body: JsonObject) -> Rendered:
    order = ("type", "code", "message", "param", "request_id", "details")
    return error.status, {"error": {name: body[name] for name in order if name in body}}


def _hyperinfer(error: GatewayError, body: JsonObject) -> Rendered:
    code = error.code
    if code not in TAXONOMY:
        fallback = "invalid_request" if error.status < 500 else "internal_error"
        code = TO_TAXONOMY.get(code, fallback)
        body["details"] = {**error.details, "code": error.code}
    body["code"] = code
    if TAXONOMY[code] == 402:
        body["type"] = code
    elif code == "invalid_api_key":
        body["type"] = "authentication_error"
    elif code == "invalid_request":
        body["type"] = "invalid_request_error"
    return TAXONOMY[code], {"error": body}


def _inferexchange(error: GatewayError, body: JsonObject) -> Rendered:
    is_malformed = isinstance(error, InvalidJson)
    upper = "INVALID_JSON" if is_malformed else UPPER_BY_STATUS.get(error.status)
    if upper is None:
        upper = "SERVICE_UNAVAILABLE" if error.status > 500 else "VALIDATION_ERROR"
    rendered = {**body, "code": upper, "details": {**error.details, "code": error.code}}
    return 422 if is_malformed else error.status, {"error": rendered}


_RENDERERS: Mapping[str, Callable[[GatewayError, JsonObject], Rendered]] = {
    "inferada": _inferada,
    "bud": _bud,
    "infery": _infery,
    "hyperinfer": _hyperinfer,
    "inferexchange": _inferexchange,
}
