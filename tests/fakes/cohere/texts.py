"""Cohere's Embed and Rerank APIs, judged by its SDK's own types and by the bounds of its reference.

https://docs.cohere.com/v2/reference/embed and https://docs.cohere.com/v2/reference/rerank
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, get_args

from cohere.types import EmbedByTypeResponse, EmbeddingType, EmbedInputType
from cohere.v2.client import V2Client
from cohere.v2.types.v2rerank_response import V2RerankResponse

from tests.fakes.book import Entry
from tests.fakes.cohere.requests import Refused
from tests.fakes.script import Script
from tests.fakes.texts import DIMENSIONS, Asked, ranking_of, reported, vectors_of

MOST_TEXTS = 96
DOCUMENTS_PER_SEARCH, WORDS_PER_DOCUMENT = 100, 500
# https://docs.cohere.com/docs/cohere-embed: of embed-v4; 8 is the fake's own.
SIZES = (DIMENSIONS, 256, 512, 1024, 1536)
META = {"api_version": {"version": "2"}}
Body = dict[str, Any]


@cache
def _members(method: str) -> frozenset[str]:
    parameters = inspect.signature(getattr(V2Client, method)).parameters
    return frozenset(parameters) - {"self", "request_options"}


def read_asked(path: str, body: Body) -> Asked:
    """Return what was asked. Raises Refused."""
    method = path.rpartition("/")[2]
    if unknown := body.keys() - _members(method):
        raise Refused(f"invalid request: unknown field {min(unknown)}.")
    if not isinstance(body.get("model"), str):
        raise Refused("invalid request: model is required.")
    asked = _read_embed(body) if method == "embed" else _read_rerank(body)
    asked.write_refusal = lambda script: {"id": "0" * 32, "message": script.message}
    return asked


def _texts(body: Body, name: str) -> list[str]:
    texts = body.get(name)
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise Refused(f"invalid request: {name} must be a list of strings.")
    return texts


def _choices(alias: Any) -> tuple[str, ...]:
    """Return the values of a type that the SDK has as a literal or anything else."""
    found: tuple[str, ...] = get_args(get_args(alias)[0])
    return found


def _read_embed(body: Body) -> Asked:
    texts = _texts(body, "texts")
    if len(texts) > MOST_TEXTS:
        raise Refused("invalid request: total number of texts must be at most 96.")
    if body.get("input_type") not in _choices(EmbedInputType):
        raise Refused("invalid request: valid input_type must be provided with the model.")
    types = body.get("embedding_types", ["float"])
    if not set(types) <= set(_choices(EmbeddingType)):
        raise Refused("invalid request: unknown embedding type.")
    if body.get("truncate", "END") not in ("NONE", "START", "END"):
        raise Refused("invalid request: truncate must be NONE, START or END.")
    size = body.get("output_dimension", DIMENSIONS)
    if "output_dimension" in body and "v3" in body["model"]:
        raise Refused("invalid request: output_dimension is not supported for this model.")
    if size not in SIZES:
        raise Refused(f"invalid request: {size} is no valid output_dimension.")

    def write(script: Script, entry: Entry) -> Body:
        # Counts are written as numbers with a fraction of nothing.
        units = {"input_tokens": float(entry.prompt_tokens)}
        answer: Body = {
            "id": "e-1",
            "texts": texts,
            "embeddings": {"float": vectors_of(texts, size, Script())},
            "meta": META | {"billed_units": units},
            "response_type": "embeddings_by_type",
        }
        EmbedByTypeResponse.model_validate(answer, strict=True)
        entry.report(units)
        answer["embeddings"] = {"float": vectors_of(texts, size, script)}
        answer["meta"] = reported(script, answer["meta"])
        return answer

    return Asked(body["model"], texts, write)


def _read_rerank(body: Body) -> Asked:
    documents = _texts(body, "documents")
    if not isinstance(body.get("query"), str) or not body["query"]:
        raise Refused("invalid request: query is required.")
    for name in ("top_n", "max_tokens_per_doc"):
        if not isinstance(body.get(name, 1), int) or body.get(name, 1) < 1:
            raise Refused(f"invalid request: {name} must be at least 1.")
    top = body.get("top_n", len(documents))

    def write(script: Script, entry: Entry) -> Body:
        entry.prompt_tokens = 0
        parts = sum(max(-(-len(one.split()) // WORDS_PER_DOCUMENT), 1) for one in documents)
        entry.searches = -(-parts // DOCUMENTS_PER_SEARCH)
        units = {"search_units": float(entry.searches)}
        answer: Body = {
            "id": "r-1",
            "results": ranking_of(documents, top, Script()),
            "meta": META | {"billed_units": units},
        }
        V2RerankResponse.model_validate(answer, strict=True)
        entry.report(units)
        answer["results"] = ranking_of(documents, top, script)
        answer["meta"] = reported(script, answer["meta"])
        return answer

    return Asked(body["model"], [body["query"], *documents], write)
