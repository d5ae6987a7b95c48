"""Embeddings of Gemini's API, judged by google-genai's own types.

On AI Studio :batchEmbedContents; on Vertex AI :predict, and :embedContent for the newer models.
https://ai.google.dev/api/embeddings and
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
"""

from __future__ import annotations

import re
from typing import Any

from google.genai import types

from tests.fakes.book import Entry
from tests.fakes.gemini.refused import Refused, error_body
from tests.fakes.gemini.sdk_types import TypeMismatch, judge
from tests.fakes.script import Script
from tests.fakes.texts import DIMENSIONS, Asked, count_words, reported, vectors_of

METHOD = re.compile(
    r"/(?:models|publishers/google/models)/([^/:]+):(batchEmbedContents|predict|embedContent)"
)
# https://ai.google.dev/gemini-api/docs/embeddings#task-types
TASKS = frozenset(
    {
        *("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION"),
        *("CLUSTERING", "QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY"),
    }
)
MOST_REQUESTS, MOST_INSTANCES = 100, 250
Body = dict[str, Any]


def read_asked(body: Body, name: str, method: str, *, is_vertex: bool) -> Asked:
    """Return what was asked. Raises Refused."""
    if is_vertex == (method == "batchEmbedContents"):
        raise Refused("Requested entity was not found.", 404)
    is_gemini = "gemini" in name
    if method == "embedContent" and (not is_gemini or name.startswith("gemini-embedding-001")):
        raise Refused(f"{name} is not supported in the embedContent API.")
    try:
        texts, options = READERS[method](body, name)
    except TypeMismatch as error:
        raise Refused(f"Invalid JSON payload received. {error}") from None
    if options.get("taskType", "CLUSTERING") not in TASKS:
        raise Refused("Invalid value at 'task_type' (type.googleapis.com/TaskType)")
    if options.get("title") and options.get("taskType") != "RETRIEVAL_DOCUMENT":
        raise Refused("The title can only be set when task_type is RETRIEVAL_DOCUMENT.")
    if not 1 <= options.get("outputDimensionality", 1) <= 3072:
        raise Refused("outputDimensionality must be between 1 and 3072.")
    size = options.get("outputDimensionality", DIMENSIONS)

    def write(script: Script, entry: Entry) -> object:
        answer = WRITERS[method](texts, vectors_of(texts, size, script), script)
        entry.report(answer.get("usageMetadata"))
        return answer

    def refuse(script: Script) -> object:
        return error_body(script.fail, script.message)

    return Asked(name, texts, write, refuse)


def _members(body: Body, *known: str) -> None:
    if unknown := body.keys() - set(known):
        raise TypeMismatch(f'Unknown name "{min(unknown)}": Cannot find field.')


def _text_of(content: Body) -> str:
    judge(types.Content, content)
    text = "".join(part["text"] for part in content["parts"])
    if not text:
        raise Refused("* EmbedContentRequest.content: content is empty")
    return text


def _config(options: Body) -> Body:
    judge(types.EmbedContentConfig, options)
    return options


def _read_batch(body: Body, name: str) -> tuple[list[str], Body]:
    _members(body, "requests")
    requests = body["requests"]
    if not 0 < len(requests) <= MOST_REQUESTS:
        raise Refused(
            "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
        )
    options: Body = {}
    for one in requests:
        if one.get("model") != f"models/{name}":
            raise Refused("* BatchEmbedContentsRequest.model: unexpected model name format")
        options = {key: value for key, value in one.items() if key not in ("model", "content")}
        if "autoTruncate" in options:
            raise TypeMismatch('Unknown name "autoTruncate": Cannot find field.')
        _config(options)
    return [_text_of(one["content"]) for one in requests], options


def _read_instances(body: Body, name: str) -> tuple[list[str], Body]:
    _members(body, "instances", "parameters")
    instances = body["instances"]
    most = 1 if "gemini" in name else MOST_INSTANCES
    if not 0 < len(instances) <= most:
        raise Refused(f"{len(instances)} instance(s) is not supported: the most is {most}.")
    for one in instances:
        _members(one, "content", "task_type", "title")
        if not isinstance(one["content"], str) or not one["content"]:
            raise Refused("The text content is empty.")
    parameters = body.get("parameters", {})
    _members(parameters, "outputDimensionality", "autoTruncate")
    first = instances[0]
    named = {"taskType": first.get("task_type"), "title": first.get("title")}
    options = {key: value for key, value in named.items() if value is not None}
    return [one["content"] for one in instances], _config(options | parameters)


def _read_one(body: Body, name: str) -> tuple[list[str], Body]:
    _members(body, "content", "embedContentConfig")
    return [_text_of(body["content"])], _config(body.get("embedContentConfig", {}))


def _write_batch(texts: list[str], vectors: list[Any], script: Script) -> Body:
    counts = {"promptTokenCount": sum(map(count_words, texts))}
    return {
        "embeddings": [{"values": vector} for vector in vectors],
        "usageMetadata": reported(script, counts),
    }


def _write_predictions(texts: list[str], vectors: list[Any], script: Script) -> Body:
    found = []
    for place, vector in enumerate(vectors):
        words = count_words(texts[min(place, len(texts) - 1)])
        statistics = reported(script, {"truncated": False, "token_count": float(words)})
        found.append({"embeddings": {"values": vector, "statistics": statistics}})
    return {"predictions": found, "metadata": {"billableCharacterCount": len("".join(texts))}}


def _write_one(texts: list[str], vectors: list[Any], script: Script) -> Body:
    counts = {"promptTokenCount": count_words(texts[0])}
    found: Body = {"embedding": {"values": vectors[0]}} if vectors else {}
    return found | {"usageMetadata": reported(script, counts), "truncated": False}


READERS = {
    "batchEmbedContents": _read_batch,
    "predict": _read_instances,
    "embedContent": _read_one,
}
WRITERS = {
    "batchEmbedContents": _write_batch,
    "predict": _write_predictions,
    "embedContent": _write_one,
}
