"""Voyage AI, Jina AI and Text Embeddings Inference, as the fake upstream has them: /voyage/v1,
/jina/v1, and /tei/v1 with /tei/rerank.

https://docs.voyageai.com/reference/embeddings-api and …/reranker-api, https://api.jina.ai/redoc,
https://huggingface.github.io/text-embeddings-inference/
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tests.fakes.asked import Request
from tests.fakes.book import Entry
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.refused import Refused
from tests.fakes.script import Script
from tests.fakes.texts import DIMENSIONS, Asked, player_of, ranking_of, reported, vectors_of

_PATHS = re.compile(r"/(voyage/v1|jina/v1|tei|tei/v1)/(embeddings|rerank)")
# By the address: how many inputs or documents a request may have, and its members.
MOST = {"voyage/v1": 1000, "jina/v1": 2048, "tei/v1": 32, "tei": 32}
EMBEDDINGS = {
    "voyage/v1": {
        *("input", "model", "input_type", "truncation", "output_dimension", "output_dtype"),
    },
    "jina/v1": {
        *("model", "input", "task", "dimensions", "normalized", "embedding_type", "truncate"),
    },
    "tei/v1": {"model", "input", "encoding_format", "dimensions", "user"},
}
RANKINGS = {
    "voyage/v1": {"query", "documents", "model", "top_k", "return_documents", "truncation"},
    "jina/v1": {"model", "query", "documents", "top_n", "return_documents"},
    # It passes over the model in silence.
    "tei": {
        *("model", "query", "texts", "raw_scores", "return_text", "truncate"),
        "truncation_direction",
    },
}
Body = dict[str, Any]


def is_embedder(path: str) -> bool:
    return _PATHS.fullmatch(path) is not None


def serve(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    found = _PATHS.fullmatch(request.path)
    assert found is not None
    place, operation = found[1], found[2]
    try:
        body: Body = msgspec.json.decode(request.body, type=dict)
    except msgspec.DecodeError as error:
        raise Refused(f"Expected valid JSON: {error}") from None
    known = EMBEDDINGS if operation == "embeddings" else RANKINGS
    if place not in known:
        raise Refused("Not Found")
    read = _read_embeddings if operation == "embeddings" else _read_ranking
    return player_of(link, request, read(place, body), entry, serial)


def _members(body: Body, known: set[str]) -> None:
    if unknown := body.keys() - known:
        raise Refused(f"Argument '{min(unknown)}' is not supported by our API.")


def _refuse_many(count: int, place: str) -> None:
    if count > MOST[place]:
        raise Refused(f"batch size {count} > maximum allowed batch size {MOST[place]}")


def _read_embeddings(place: str, body: Body) -> Asked:
    _members(body, EMBEDDINGS[place])
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise Refused("Please provide valid input")
    if place != "tei/v1" and not all(isinstance(text, str) and text for text in texts):
        raise Refused("Please provide valid input: a text, or a list of texts")
    _refuse_many(len(texts), place)
    size: int = body.get("output_dimension") or body.get("dimensions") or DIMENSIONS
    words = [text if isinstance(text, str) else "token " * len(text) for text in texts]

    def write(script: Script, entry: Entry) -> Body:
        counts = {"total_tokens": entry.prompt_tokens}
        if place != "voyage/v1":
            counts["prompt_tokens"] = entry.prompt_tokens
        entry.report(counts)
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors_of(words, size, script))
        ]
        usage = reported(script, counts)
        return {"object": "list", "data": data, "model": body.get("model"), "usage": usage}

    return Asked(body.get("model", ""), words, write)


def _read_ranking(place: str, body: Body) -> Asked:
    _members(body, RANKINGS[place])
    documents = body.get("texts" if place == "tei" else "documents")
    if not isinstance(documents, list) or not all(isinstance(one, str) for one in documents):
        raise Refused("Please provide valid documents")
    _refuse_many(len(documents), place)
    if not isinstance(body.get("query"), str) or not body["query"]:
        raise Refused("Please provide a valid query")
    if place == "jina/v1" and body.get("return_documents", True):
        raise Refused("The documents were asked back.")
    top: int = body.get("top_k") or body.get("top_n") or len(documents)
    name = {"voyage/v1": "data", "jina/v1": "results", "tei": ""}[place]

    def write(script: Script, entry: Entry) -> object:
        score = "relevance_score" if name else "score"
        results = ranking_of(documents, top, script, score)
        if not name:
            entry.prompt_tokens = 0
            return results
        counts = {"total_tokens": entry.prompt_tokens}
        entry.report(counts)
        return {name: results, "model": body["model"], "usage": reported(script, counts)}

    return Asked(body.get("model", ""), [body["query"], *documents], write)
