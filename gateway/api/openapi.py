"""The OpenAPI 3.1 document, made from the code that reads and answers requests.

- Paths and parameters of REST framework's views: drf-spectacular.
- The body of a call: gateway.endpoints.chat_completions.schema, the type that decodes it, with the
  rules that types cannot express (gateway.api.openapi_request).
- Answers: the structs that encode them.
- Errors: the classes of gateway.core.errors.

Tests compare a running gateway with the whole document (tests/contract).
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from threading import Lock
from typing import Any, cast

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

import gateway
from gateway.api import openapi_request
from gateway.api.errors import READS, json_error
from gateway.api.schemas.generation import GenerationResponse
from gateway.api.schemas.installation import Health, Status
from gateway.api.schemas.models import Model, ModelList
from gateway.api.schemas.usage import UsageResponse
from gateway.core.error_page import every_class
from gateway.core.errors import CallerGone, MethodNotAllowed
from gateway.core.json_types import JsonObject
from gateway.core.mounts import MOUNTS
from gateway.core.profiles import ALL as PROFILES
from gateway.endpoints.chat_completions.response_schema import ChatCompletion, ChatCompletionChunk
from gateway.endpoints.chat_completions.schema import ChatCompletionRequest
from gateway.endpoints.embeddings.schema import EmbeddingsRequest, EmbeddingsResponse
from gateway.http.error_format import ErrorResponse
from gateway.http.headers import IDEMPOTENCY_KEY

REF = "#/components/schemas/{name}"
RESPONSES = (
    ChatCompletion,
    ChatCompletionChunk,
    EmbeddingsResponse,
    ErrorResponse,
    GenerationResponse,
    Health,
    Model,
    ModelList,
    Status,
    UsageResponse,
)
CALLS = ("/chat/completions", "/embeddings")
# Statuses of the endpoints that only read; the others are for calls to models.
READING = frozenset({400, 401, 403, 404, 405, 408, 414, 417, 429, 431, 500, 503})


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How KeyAuthentication is written in the document."""

    target_class = "gateway.api.authentication.KeyAuthentication"
    match_subclasses = True
    name = "key"

    def get_security_definition(self, auto_schema: object) -> JsonObject:
        return {"type": "http", "scheme": "bearer"}


# drf-spectacular finds its parts while it writes its first document, and not for two at a time.
_one_at_a_time = Lock()


def document() -> JsonObject:
    """Return the whole document."""
    with _one_at_a_time:
        return _document()


@cache
def _document() -> JsonObject:
    generator = cast(Any, SchemaGenerator)(urlconf="gateway.api.urls")
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
    made["paths"] = {
        "/chat/completions": {"post": _chat_completions()},
        "/embeddings": {"post": _embeddings()},
        **made["paths"],
        "/openapi.json": {"get": _openapi()},
    }
    components = made.setdefault("components", {})
    components["schemas"] = _schemas()
    made["security"] = [{"key": []}]
    for path, operations in made["paths"].items():
        for operation in operations.values():
            operation.setdefault("security", [])  # said of nothing, it would be the document's
            operation["responses"] |= _error_responses(for_calls=path in CALLS)
            for status, response in operation["responses"].items():
                response["headers"] = _answer_headers(status)
    made["paths"]["/models"]["get"]["responses"]["200"]["links"] = LINKS["model"]
    return made


def serve(request: HttpRequest) -> HttpResponse:
    """GET /openapi.json, for everybody."""
    if request.method not in READS:
        return json_error(request, MethodNotAllowed(details={"allow": READS}))
    return HttpResponse(
        msgspec.json.encode(document()),
        content_type="application/json",
        headers={"cache-control": "public, max-age=300"},
    )


def _schemas() -> JsonObject:
    _, schemas = msgspec.json.schema_components(
        [ChatCompletionRequest, EmbeddingsRequest, *RESPONSES], ref_template=REF
    )
    openapi_request.complete(schemas)
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


def _content(name: str) -> JsonObject:
    return {"schema": {"$ref": REF.format(name=name)}}


def _headers() -> list[JsonObject]:
    return [
        {"name": name, "in": "header", "required": False, "description": text, "schema": schema}
        for name, (text, schema) in HEADERS.items()
    ]


def _embeddings() -> JsonObject:
    request = _content("EmbeddingsRequest") | {"examples": EMBEDDINGS_EXAMPLES}
    return {
        "operationId": "createEmbedding",
        "summary": "Create embeddings",
        "tags": ["calls"],
        "security": [{"key": []}],
        "parameters": _headers(),
        "requestBody": {"required": True, "content": {"application/json": request}},
        "responses": {
            "200": {
                "description": "One embedding for each input, in the order of the inputs.",
                "content": {"application/json": _content("EmbeddingsResponse")},
                "links": LINKS["record"],
            }
        },
    }


def _chat_completions() -> JsonObject:
    return {
        "operationId": "createChatCompletion",
        "summary": "Create a chat completion",
        "tags": ["calls"],
        "security": [{"key": []}],
        "parameters": _headers(),
        "requestBody": {
            "required": True,
            "content": {
                "application/json": _content("ChatCompletionRequest") | {"examples": EXAMPLES}
            },
        },
        "responses": {
            "200": {
                "description": "The completion. With stream: true, a stream of chunks.",
                "content": {
                    "application/json": _content("ChatCompletion"),
                    "text/event-stream": {"schema": EVENT},
                },
                "links": LINKS["record"],
            }
        },
    }


TEXT: JsonObject = {"type": "string"}
HELLO: JsonObject = {
    "model": "tollhouse/simulated",
    "messages": [{"role": "user", "content": "Say hello."}],
}
EXAMPLES: JsonObject = {
    "buffered": {"value": HELLO},
    "streamed": {"value": HELLO | {"stream": True}},
}
TEXTS: JsonObject = {"model": "tollhouse/simulated", "input": ["A red bicycle", "A blue car"]}
EMBEDDINGS_EXAMPLES: JsonObject = {
    "numbers": {"value": TEXTS},
    "base64": {"value": TEXTS | {"encoding_format": "base64", "dimensions": 64}},
}
# One event of the stream, as OpenAPI has them since 3.2: an object with its data.
EVENT: JsonObject = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "anyOf": [
                TEXT
                | {
                    "contentMediaType": "application/json",
                    "contentSchema": {"$ref": REF.format(name="ChatCompletionChunk")},
                },
                TEXT
                | {
                    "description": "The last event before [DONE] if the stream fails.",
                    "contentMediaType": "application/json",
                    "contentSchema": {"$ref": REF.format(name="ErrorResponse")},
                },
                {"const": "[DONE]"},
            ]
        }
    },
}
HEADERS: dict[str, tuple[str, JsonObject]] = {
    "Idempotency-Key": (
        "Makes retries safe: the same key and body get the same response for 24 hours.",
        TEXT | {"pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
    ),
    "X-Compat-Profile": (
        "Compatibility profile of the response.",
        openapi_request.or_empty({"enum": [profile.name for profile in PROFILES]}),
    ),
    "X-Episode-Id": (
        "Groups calls. A UUID.",
        openapi_request.or_empty(openapi_request.UUID),
    ),
    "X-Request-Id": (
        "A new UUID becomes the ID of the call. Any other value is treated as X-Client-Request-Id.",
        TEXT,
    ),
    "X-Client-Request-Id": ("Your own ID of the request. It is returned and stored.", TEXT),
    "X-Disable-Fallback": ("true: do not use fallback models.", TEXT),
    "X-Require-Parameters": ("true: fail if a parameter would be dropped.", TEXT),
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


def _error_responses(*, for_calls: bool) -> JsonObject:
    by_status: dict[int, dict[str, str]] = defaultdict(dict)
    for error in every_class():
        if issubclass(error, CallerGone):
            continue
        if for_calls or error.status in READING:
            by_status[error.status].setdefault(error.code, error.meaning)
    return {
        str(status): {
            "description": "\n".join(f"- `{code}`: {text}" for code, text in codes.items()),
            "content": {
                "application/json": {"schema": {"$ref": REF.format(name="ErrorResponse")}},
            },
        }
        for status, codes in sorted(by_status.items())
    }
