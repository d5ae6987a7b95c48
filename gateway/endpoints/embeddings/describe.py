"""POST /embeddings in the OpenAPI document."""

from __future__ import annotations

from gateway.core.json_types import JsonObject
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.embeddings.schema import (
    MAX_INPUTS,
    EmbeddingsRequest,
    EmbeddingsResponse,
    reader,
)
from gateway.endpoints.inputs import limit_lists
from gateway.endpoints.json_schema import complete_plain

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
    members["input"] = limit_lists(members["input"], MAX_INPUTS)
    complete_plain(request, reader.known, reader.not_here)
