"""POST /embeddings in the OpenAPI document."""

from __future__ import annotations

from gateway.core.json_types import JsonObject
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.embeddings.schema import (
    KNOWN,
    MAX_INPUTS,
    MAX_TOKEN_IDS,
    NOT_HERE,
    EmbeddingsRequest,
    EmbeddingsResponse,
)
from gateway.endpoints.json_schema import complete_common

# False or null. Written so that generators of clients read a boolean.
OFF: JsonObject = {"anyOf": [{"type": "boolean"}, {"type": "null"}], "not": {"const": True}}
TEXTS: JsonObject = {"model": "tollhouse/simulated", "input": ["A red bicycle", "A blue car"]}


def describe() -> EndpointDescription:
    return EndpointDescription(
        operation_id="createEmbedding",
        summary="Create embeddings",
        answer="One embedding for each input, in the order of the inputs.",
        request=EmbeddingsRequest,
        response=EmbeddingsResponse,
        examples={
            "numbers": TEXTS,
            "base64": TEXTS | {"encoding_format": "base64", "dimensions": 64},
        },
        complete=complete,
    )


def complete(schemas: Schemas) -> None:
    """Say what a list of inputs may have, and which members of other endpoints have to be off."""
    request = schemas[EmbeddingsRequest.__name__]
    members = request["properties"]
    text, many = members["input"]["anyOf"]
    kinds = many["items"]["anyOf"]
    limits = (MAX_INPUTS, MAX_TOKEN_IDS, MAX_INPUTS)
    lists = [
        many | {"items": kind, "maxItems": limit} for kind, limit in zip(kinds, limits, strict=True)
    ]
    members["input"] = {"anyOf": [text, *lists]}
    members |= {name: OFF | {"description": "Not available."} for name in sorted(NOT_HERE)}
    complete_common(request, KNOWN | NOT_HERE)
