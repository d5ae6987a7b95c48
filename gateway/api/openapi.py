"""The OpenAPI 3.1 document, made from the code that reads and answers requests.

- Paths and parameters of REST framework's views: drf-spectacular.
- Calls to models: what each endpoint says of itself (gateway.endpoints.description). The types that
  decode a body and encode an answer, and the rules that types cannot express.
- Other answers: the structs that encode them.
- Errors: the classes of gateway.core.errors.

Tests compare a running gateway with the whole document (tests/contract).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, cast

import msgspec
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema

import gateway
from gateway.api.authentication import KeyAuthentication
from gateway.api.files import SCOPE as FILES_SCOPE
from gateway.api.schemas.anthropic_files import (
    AnthropicDeletedFile,
    AnthropicFile,
    AnthropicFileList,
)
from gateway.api.schemas.anthropic_models import AnthropicModel, AnthropicModelList
from gateway.api.schemas.batches import BatchList, BatchObject, CreateBatchRequest
from gateway.api.schemas.explanation import ExplainRequest, ExplanationResponse
from gateway.api.schemas.files import DeletedFile, FileList, FileObject, FileUpload
from gateway.api.schemas.generation import GenerationResponse
from gateway.api.schemas.installation import Health, Status
from gateway.api.schemas.key import KeyResponse
from gateway.api.schemas.language import (
    CorrectedText,
    CorrectRequest,
    DetectedLanguage,
    DetectRequest,
)
from gateway.api.schemas.models import Model, ModelList
from gateway.api.schemas.pii import (
    AnalysedText,
    PiiRestoreRequest,
    PiiSearchRequest,
    RedactedText,
    RestoredText,
)
from gateway.api.schemas.processors import ProcessorList
from gateway.api.schemas.responses import DeletedResponse, InputItemList
from gateway.api.schemas.usage import UsageResponse
from gateway.api.upload_description import describe_upload
from gateway.api.view_descriptions import DESCRIBED
from gateway.core.error_page import every_class
from gateway.core.errors import CallerGone
from gateway.core.json_types import JsonObject
from gateway.core.mounts import MOUNTS
from gateway.core.profiles import ALL as PROFILES
from gateway.endpoints.base import AnyEndpoint
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.json_schema import REF, UUID, or_empty, reference
from gateway.endpoints.registry import make_endpoints, make_token_counters
from gateway.http.anthropic_errors import AnthropicErrorResponse
from gateway.http.api_format import ApiFormat
from gateway.http.error_format import ErrorResponse
from gateway.http.headers import IDEMPOTENCY_KEY
from gateway.runtime.request_rules import request_rules

# What other endpoints than those that call models answer, and errors.
RESPONSES = (
    AnalysedText,
    AnthropicErrorResponse,
    AnthropicModel,
    AnthropicModelList,
    AnthropicDeletedFile,
    AnthropicFile,
    AnthropicFileList,
    BatchList,
    BatchObject,
    CorrectedText,
    CorrectRequest,
    CreateBatchRequest,
    DeletedFile,
    DeletedResponse,
    DetectedLanguage,
    DetectRequest,
    ErrorResponse,
    ExplainRequest,
    ExplanationResponse,
    FileList,
    FileObject,
    FileUpload,
    GenerationResponse,
    Health,
    InputItemList,
    KeyResponse,
    Model,
    ModelList,
    ProcessorList,
    RedactedText,
    RestoredText,
    PiiRestoreRequest,
    PiiSearchRequest,
    Status,
    UsageResponse,
)
# Statuses of the endpoints that only read; the others are for calls to models.
READING = frozenset({400, 401, 403, 404, 405, 408, 414, 417, 429, 431, 500, 503})
# And those of other endpoints that read a body.
SENDING = frozenset({413})
# And those of endpoints that run an engine of processors.
PROCESSING = frozenset({422, 502})
PROCESSING_PATHS = ("/language/", "/pii/")
# And those of uploads.
STORING = frozenset({409, 415, 422})
# What is answered in Anthropic's format, too.
IN_BOTH_FORMATS = (
    *("/models", "/models/{name}"),
    *("/files", "/files/{file_id}", "/files/{file_id}/content"),
)
# And those of what is created once for each idempotency key.
CREATING = frozenset({409, 422})


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How KeyAuthentication is written in the document."""

    target_class = "gateway.api.authentication.KeyAuthentication"
    match_subclasses = True
    name = "key"

    def get_security_definition(self, auto_schema: object) -> JsonObject:
        return {"type": "http", "scheme": "bearer"}

    def get_security_requirement(self, auto_schema: AutoSchema) -> JsonObject:
        """Return the scheme, with the scope that a view asks for if it asks for one."""
        scope = getattr(auto_schema.view, "scope", "")
        return {self.name: [scope] if scope else []}


# Its subclasses are the same scheme, of which drf-spectacular would warn on standard error.
set_override(KeyAuthentication, "suppress_collision_warning", True)

# drf-spectacular finds its parts while it writes its first document, and not for two at a time.
_one_at_a_time = Lock()


def document() -> JsonObject:
    """Return the whole document."""
    with _one_at_a_time:
        return _document()


@cache
def _document() -> JsonObject:
    # This import loads the views, which are in DESCRIBED then.
    generator = cast(Any, SchemaGenerator)(urlconf=import_module("gateway.api.urls"))
    for method, options in DESCRIBED:
        extend_schema(**options)(method)
    made: JsonObject = generator.get_schema(public=True)
    made["info"] = {
        "title": "Tollhouse",
        "version": gateway.__version__,
        "summary": "An OpenAI-compatible gateway.",
        "description": "Base paths: "
        + ", ".join(MOUNTS)
        + " and /compat/{profile}/v1. Compatibility profiles: "
        + ", ".join(profile.name for profile in PROFILES)
        + ".",
    }
    made["servers"] = [{"url": mount} for mount in MOUNTS]
    rules = request_rules()
    endpoints = [*make_endpoints(rules), *make_token_counters(rules)]
    described = [(endpoint, endpoint.describe()) for endpoint in endpoints]
    calls = {f"/{one.paths[0]}": {"post": _call(one, said)} for one, said in described}
    errors: dict[str, Sequence[type[msgspec.Struct]]] = {
        f"/{one.paths[0]}": (one.api_format.error_type,) for one in endpoints
    }
    errors |= dict.fromkeys(IN_BOTH_FORMATS, (ErrorResponse, AnthropicErrorResponse))
    made["paths"] = {
        **calls,
        **made["paths"],
        "/openapi.json": {"get": _openapi()},
    }
    made["paths"]["/files"]["post"] = describe_upload(FILES_SCOPE)
    components = made.setdefault("components", {})
    components["schemas"] = _schemas([said for _, said in described])
    made["security"] = [{"key": []}]
    for path, operations in made["paths"].items():
        for operation in operations.values():
            operation.setdefault("security", [])  # said of nothing, it would be the document's
            is_sent_a_body = "requestBody" in operation and path not in calls
            statuses = READING | SENDING if is_sent_a_body else READING
            if is_sent_a_body:
                operation["requestBody"]["required"] = True
            if path.startswith(PROCESSING_PATHS):
                statuses |= PROCESSING
            if path == "/batches" and is_sent_a_body:
                statuses |= CREATING
            if path == "/files" and is_sent_a_body:
                statuses |= STORING
            operation["responses"] |= _error_responses(
                None if path in calls else statuses,
                errors.get(path, (ErrorResponse,)),
            )
            for status, response in operation["responses"].items():
                response["headers"] = _answer_headers(status)
    made["paths"]["/models"]["get"]["responses"]["200"]["links"] = LINKS["model"]
    return made


def _schemas(descriptions: Sequence[EndpointDescription]) -> JsonObject:
    types = [one for description in descriptions for one in description.types]
    _, schemas = msgspec.json.schema_components([*types, *RESPONSES], ref_template=REF)
    for description in descriptions:
        description.complete(schemas)
    return schemas


def _openapi() -> JsonObject:
    return {
        "operationId": "getOpenApi",
        "description": "This document.",
        "tags": ["installation"],
        "security": [],
        "responses": {
            "200": {
                "description": "An OpenAPI 3.1 document.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        },
    }


def _content(struct: type[msgspec.Struct]) -> JsonObject:
    return {"schema": reference(struct)}


def _headers() -> list[JsonObject]:
    return [
        {"name": name, "in": "header", "required": False, "description": text, "schema": schema}
        for name, (text, schema) in HEADERS.items()
    ]


def _call(endpoint: AnyEndpoint, description: EndpointDescription) -> JsonObject:
    """Return the operation of an endpoint that calls models."""
    examples = {name: {"value": body} for name, body in description.examples.items()}
    request = _content(description.request) | {"examples": examples}
    content = {
        name: {"schema": TEXT} if name.startswith("text/") else _content(description.response)
        for name in description.response_types
    }
    if description.events:
        content["text/event-stream"] = {"schema": _event(description.events, endpoint.api_format)}
    return {
        "operationId": description.operation_id,
        "summary": description.summary,
        "tags": ["calls"],
        "security": [{"key": [endpoint.scope]}],
        "parameters": _headers(),
        "requestBody": {
            "required": True,
            "content": {endpoint.api_format.body_type.decode(): request},
        },
        "responses": {
            "200": {
                "description": description.answer,
                "content": content,
                "links": {**LINKS["record"], **description.links},
            }
        },
    }


def _event(events: Sequence[type[msgspec.Struct]], api_format: ApiFormat) -> JsonObject:
    """Return one event of a stream, as OpenAPI has them since 3.2: an object with its data."""
    end = api_format.stream_end
    data = [
        TEXT | {"contentMediaType": "application/json", "contentSchema": reference(event)}
        for event in events
    ]
    data.append(
        TEXT
        | {
            "description": f"The last event{f' before {end}' if end else ''} if the stream fails.",
            "contentMediaType": "application/json",
            "contentSchema": reference(api_format.error_type),
        }
    )
    if end:
        data.append({"const": end})
    return {"type": "object", "required": ["data"], "properties": {"data": {"anyOf": data}}}


TEXT: JsonObject = {"type": "string"}
SWITCH: JsonObject = {"enum": ["true", "false"]}
HEADERS: dict[str, tuple[str, JsonObject]] = {
    "Idempotency-Key": (
        "Makes retries safe: the same key and body get the same response for 24 hours.",
        TEXT | {"pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
    ),
    "X-Compat-Profile": (
        "Compatibility profile of the response.",
        or_empty({"enum": [profile.name for profile in PROFILES]}),
    ),
    "X-Episode-Id": (
        "A UUID that groups calls.",
        or_empty(UUID),
    ),
    "X-Request-Id": (
        "A new UUID becomes the ID of the call. Any other value is treated as X-Client-Request-Id.",
        TEXT,
    ),
    "X-Client-Request-Id": ("Your own ID of the request. It is returned and stored.", TEXT),
    "X-Disable-Fallback": ("true: do not use fallback models.", or_empty(SWITCH)),
    "X-Require-Parameters": ("true: fail if a parameter would be dropped.", or_empty(SWITCH)),
}
LINKS: JsonObject = {
    "record": {
        "record": {
            "operationId": "getGeneration",
            "parameters": {"id": "$response.header.X-Request-Id"},
        }
    },
    "model": {
        "first": {"operationId": "getModel", "parameters": {"name": "$response.body#/data/0/id"}}
    },
}
REQUEST_ID = ("X-Request-Id", "Quote it in questions about this response.")
OF_STATUS = {
    "401": ("WWW-Authenticate", "Bearer."),
    "405": ("Allow", "Allowed methods."),
    **dict.fromkeys(("409", "429", "503", "529"), ("Retry-After", "Seconds to wait.")),
}
# Sent where requests per minute are limited. X-RateLimit-Limit-Requests etc. are as OpenAI's.
RATES = (
    ("X-RateLimit-Limit", "Burst: requests that can be made at once."),
    ("X-RateLimit-Remaining", "Requests that can be made now."),
    ("X-RateLimit-Reset", "When the full burst is available again, in seconds since 1970."),
)


def _answer_headers(status: str) -> JsonObject:
    """Return the headers that every answer of this status has, and those that limits add."""
    named = [REQUEST_ID, *([OF_STATUS[status]] if status in OF_STATUS else [])]
    rates = RATES if status in ("200", "429") else ()
    return {
        name: {"required": is_always, "description": text, "schema": TEXT}
        for headers, is_always in ((named, True), (rates, False))
        for name, text in headers
    }


def _error_responses(
    statuses: frozenset[int] | None, types: Sequence[type[msgspec.Struct]]
) -> JsonObject:
    """Return the errors of these statuses, each one of the types; None: of all statuses."""
    content = (
        {"schema": {"anyOf": [reference(one) for one in types]}}
        if len(types) > 1
        else _content(types[0])
    )
    by_status: dict[int, dict[str, str]] = defaultdict(dict)
    for error in every_class():
        if issubclass(error, CallerGone):
            continue
        if statuses is None or error.status in statuses:
            by_status[error.status].setdefault(error.code, error.meaning)
    return {
        str(status): {
            "description": "\n".join(f"- `{code}`: {text}" for code, text in codes.items()),
            "content": {"application/json": content},
        }
        for status, codes in sorted(by_status.items())
    }
