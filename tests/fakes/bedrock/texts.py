"""Embeddings by InvokeModel: Amazon's Titan, and Cohere's judged by its SDK's types.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html and
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html
"""

from __future__ import annotations

from typing import Any

from tests.fakes.bedrock.refused import Refused, name_refusal
from tests.fakes.book import Entry
from tests.fakes.cohere import texts as cohere
from tests.fakes.cohere.requests import Refused as CohereRefused
from tests.fakes.script import Script
from tests.fakes.texts import DIMENSIONS, Asked, vectors_of

TOKENS_FIELD = b"x-amzn-bedrock-input-token-count"
# By the model: the members of a request, and the sizes of a vector. 8 is the fake's own.
TITANS = {
    "amazon.titan-embed-text-v1": ({"inputText"}, (DIMENSIONS,)),
    "amazon.titan-embed-text-v2:0": (
        {"inputText", "dimensions", "normalize", "embeddingTypes"},
        (DIMENSIONS, 256, 512, 1024),
    ),
    "amazon.titan-embed-image-v1": (
        {"inputText", "inputImage", "embeddingConfig"},
        (DIMENSIONS, 256, 384, 1024),
    ),
}
OF_COHERE = frozenset(
    {"input_type", "texts", "images", "inputs", "truncate", "embedding_types"}
    | {"output_dimension", "max_tokens"}
)
RANKERS = {
    "cohere.rerank-v3-5:0": {"query", "documents", "top_n", "api_version"},
    "amazon.rerank-v1:0": {"query", "documents", "top_n"},
}
MEANT = ("cohere.embed-", "titan-embed-", ".rerank-")
Body = dict[str, Any]


def is_meant(model: str, operation: str) -> bool:
    return operation == "invoke" and any(name in model for name in MEANT)


def read_asked(body: Body, model: str) -> Asked:
    """Return what was asked. Raises Refused."""
    name = model.rpartition("/")[2].removeprefix("us.").removeprefix("eu.")
    if ".rerank-" in name:
        asked = _read_ranking(body, name)
    else:
        asked = _read_cohere(body, name) if name.startswith("cohere.") else _read_titan(body, name)
    asked.write_refusal = lambda script: {"message": script.message}
    asked.refusal_headers = name_refusal
    return asked


def _read_titan(body: Body, name: str) -> Asked:
    if name not in TITANS:
        raise Refused("The provided model identifier is invalid.")
    members, sizes = TITANS[name]
    if unknown := body.keys() - members:
        raise Refused(f"Malformed input request: extraneous key [{min(unknown)}] is not permitted")
    text = body.get("inputText")
    if not isinstance(text, str) or not text:
        raise Refused("Malformed input request: expected minLength: 1, actual: 0")
    size = body.get("dimensions", DIMENSIONS)
    config = body.get("embeddingConfig", {"outputEmbeddingLength": size})
    if config.keys() != {"outputEmbeddingLength"}:
        raise Refused("Malformed input request: #/embeddingConfig: extraneous key")
    size = config["outputEmbeddingLength"]
    if size not in sizes:
        raise Refused(f"Malformed input request: {size} is not a valid enum value")
    if not isinstance(body.get("normalize", True), bool):
        raise Refused("Malformed input request: #/normalize: expected type: Boolean")

    def write(script: Script, entry: Entry) -> Body:
        counts = {"inputTextTokenCount": entry.prompt_tokens}
        entry.report(counts)
        found = vectors_of([text], size, script)
        answer: Body = {"embedding": found[0]} if found else {}
        return answer | (counts if script.usage != "none" else {})

    return Asked(name, [text], write, headers=_count)


def _read_cohere(body: Body, name: str) -> Asked:
    if unknown := body.keys() - OF_COHERE:
        raise Refused(f"Malformed input request: extraneous key [{min(unknown)}] is not permitted")
    try:
        asked = cohere.read_asked("/embed", body | {"model": name})
    except CohereRefused as error:
        raise Refused(str(error)) from None
    write_all = asked.write

    def write(script: Script, entry: Entry) -> object:
        answer: Any = write_all(script, entry)
        answer.pop("meta")
        return answer

    asked.write = write
    asked.headers = _count
    return asked


def _read_ranking(body: Body, name: str) -> Asked:
    if name not in RANKERS:
        raise Refused("The provided model identifier is invalid.")
    if unknown := body.keys() - RANKERS[name]:
        raise Refused(f"Malformed input request: extraneous key [{min(unknown)}] is not permitted")
    if "api_version" in RANKERS[name] and body.pop("api_version", None) != 2:
        raise Refused("Malformed input request: api_version must be 2 or higher")
    try:
        asked = cohere.read_asked("/rerank", body | {"model": name})
    except CohereRefused as error:
        raise Refused(str(error)) from None
    write_all = asked.write

    def write(script: Script, entry: Entry) -> object:
        answer: Any = write_all(script, entry)
        return {"results": answer["results"]}

    asked.write = write
    return asked


def _count(script: Script, entry: Entry) -> list[tuple[bytes, bytes]]:
    """Return the header that has what was used, as the script says."""
    how, _, value = script.usage.partition(":")
    if how == "none":
        return []
    told = value if how == "raw" else str(entry.prompt_tokens)
    return [(TOKENS_FIELD, told.encode())]
