"""What the built-in provider answers to operations of one request and one answer, by their path.

Texts are judged by a few words; documents are ranked by the words they share with the query; every
image is the same pixel.
"""

from __future__ import annotations

import msgspec

from gateway.core.json_types import JsonObject
from gateway.providers.simulated_embeddings import words_of

# A PNG of one red pixel.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
CATEGORIES = {"violence": frozenset({"kill", "murder", "attack"}), "hate": frozenset({"hate"})}


def answer_operation(path: str, request: bytes, prompt_tokens: int) -> bytes | None:
    """Return the body of the response; None for a path that is none of these."""
    known = {"moderations": moderate, "rerank": rank, "images/generations": draw}
    for ending, answer in known.items():
        if path.endswith(f"/{ending}"):
            said = answer(msgspec.json.decode(request))
            if answer is not moderate:
                said["usage"] = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}
            return msgspec.json.encode(said)
    return None


def moderate(asked: JsonObject) -> JsonObject:
    given = asked["input"]
    if isinstance(given, str):
        given = [given]
    if isinstance(given[0], dict):
        given = [" ".join(part.get("text", "") for part in given)]
    return {"results": [judge(text) for text in given]}


def judge(text: str) -> JsonObject:
    words = set(words_of(text))
    found = {name: not words.isdisjoint(bad) for name, bad in CATEGORIES.items()}
    return {
        "flagged": any(found.values()),
        "categories": found,
        "category_scores": {name: float(is_found) for name, is_found in found.items()},
    }


def rank(asked: JsonObject) -> JsonObject:
    query = set(words_of(asked["query"]))
    results = [
        {"index": index, "relevance_score": len(query & set(words_of(text))) / max(len(query), 1)}
        for index, text in enumerate(asked["documents"])
    ]
    results.sort(key=lambda one: -one["relevance_score"])
    return {"results": results[: asked.get("top_n")]}


def draw(asked: JsonObject) -> JsonObject:
    image = {"b64_json": PIXEL}
    if asked.get("response_format") == "url":
        image = {"url": f"data:image/png;base64,{PIXEL}"}
    return {"data": [image] * (asked.get("n") or 1)}
