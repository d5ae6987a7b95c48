"""Embeddings over Gemini's API, on Google AI Studio and on Vertex AI.

AI Studio takes many texts at once, and so does Vertex AI for its older models (:predict). Gemini's
own models have one text in a request there.
References: https://ai.google.dev/api/embeddings#method:-models.batchembedcontents,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api and
https://docs.cloud.google.com/python/docs/reference/aiplatform/latest/google.cloud.aiplatform_v1beta1.types.EmbedContentRequest
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.embeddings import EmbeddingsAnswer, EmbeddingsCall
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.providers.gemini.address import hidden_of, is_vertex, url_of
from gateway.providers.gemini.errors import read_error
from gateway.providers.gemini.usage import read_usage
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.request import write_headers
from gateway.providers.secrets import secrets_of
from gateway.providers.text_embeddings import TRANSLATED, check_texts, in_parts, refuse_stream
from gateway.providers.token_counts import read_whole
from gateway.providers.translation import wanted_fields
from gateway.providers.vectors import read_all_numbers
from gateway.snapshot.types import TargetRecord

__all__ = ["MOST_TEXTS", "NATIVE", "TRANSLATED", "GeminiEmbeddings"]

# The API's own, which go through as they are, in either spelling.
_SPELLINGS: Mapping[str, str] = {
    "task_type": "taskType",
    "taskType": "taskType",
    "title": "title",
    "auto_truncate": "autoTruncate",
    "autoTruncate": "autoTruncate",
}
NATIVE = frozenset(_SPELLINGS)
# Vertex AI's alone.
_OF_VERTEX = frozenset({"auto_truncate", "autoTruncate"})
# Of AI Studio. Of Vertex AI: MOST_INSTANCES for older models, 1 for Gemini's own.
MOST_TEXTS = 100
MOST_INSTANCES = 250
# Those of Gemini's own models that Vertex AI has under :predict, too.
_PREDICTED = ("gemini-embedding-001", "gemini-embedding-exp")
# What a prediction has for each text, where :embedContent has all together.
_OF_INSTANCES = {"taskType": "task_type", "title": "title"}
Fields = dict[str, object]
_encode = msgspec.json.encode


class GeminiEmbeddings:
    """Embeddings for every provider of the `gemini` dialect."""

    supported: frozenset[str] = frozenset()

    def check(self, call: EmbeddingsCall, target: TargetRecord) -> set[str]:
        return check_texts(call, target, NATIVE if is_vertex(target) else NATIVE - _OF_VERTEX)

    def build_request(
        self, call: EmbeddingsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        fields = wanted_fields(call, grant, target)
        options: Fields = {
            _SPELLINGS[name]: msgspec.Raw(fields[name]) for name in NATIVE & fields.keys()
        }
        if "dimensions" in fields:
            options["outputDimensionality"] = msgspec.Raw(fields["dimensions"])
        method, most = _method_of(target)

        def write(texts: Sequence[str]) -> UpstreamRequest:
            return UpstreamRequest(
                url=url_of(target, method),
                headers=write_headers(grant, target),
                body=_encode(_WRITERS[method](texts, options, target)),
                hidden=hidden_of(target),
            )

        return in_parts(call.payload.texts, most, write)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
        """Raises ProviderUnavailable unless there is one vector for each input."""
        try:
            answer = _decode(body)
            found = answer.embeddings or [one.embeddings for one in answer.predictions]
            if answer.embedding is not None:
                found = [answer.embedding]
            vectors = read_all_numbers([one.values for one in found], request.answers)
        except MALFORMED:
            raise invalid_answer(body) from None
        usage = read_usage(answer.usage_metadata) or _sum_statistics(found)
        return EmbeddingsAnswer(vectors, usage)

    open_decoder = staticmethod(refuse_stream)
    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


class _Embedding(msgspec.Struct):
    values: msgspec.Raw
    statistics: object = None


class _Prediction(msgspec.Struct):
    embeddings: _Embedding


class _Answer(msgspec.Struct, rename="camel"):
    """What we read of an answer to any of the methods; the rest is skipped undecoded."""

    embeddings: list[_Embedding] = msgspec.field(default_factory=list)
    predictions: list[_Prediction] = msgspec.field(default_factory=list)
    embedding: _Embedding | None = None
    usage_metadata: object = None


_decode = msgspec.json.Decoder(_Answer).decode


def _method_of(target: TargetRecord) -> tuple[str, int]:
    """Return the method for a model, and how many texts it takes."""
    if not is_vertex(target):
        return "batchEmbedContents", MOST_TEXTS
    name = target.native_model.rpartition("/")[2]
    if "gemini" not in name:
        return "predict", MOST_INSTANCES
    return "predict" if name.startswith(_PREDICTED) else "embedContent", 1


def _write_batch(texts: Sequence[str], options: Fields, target: TargetRecord) -> Fields:
    name = target.native_model
    model = name if "/" in name else f"models/{name}"
    options = {one: raw for one, raw in options.items() if one != "autoTruncate"}
    return {"requests": [{"model": model, **_write_content(text), **options} for text in texts]}


def _write_instances(texts: Sequence[str], options: Fields, target: TargetRecord) -> Fields:
    own = {_OF_INSTANCES[one]: options[one] for one in _OF_INSTANCES.keys() & options.keys()}
    rest = {one: raw for one, raw in options.items() if one not in _OF_INSTANCES}
    said: Fields = {"instances": [{"content": text, **own} for text in texts]}
    return said | ({"parameters": rest} if rest else {})


def _write_one(texts: Sequence[str], options: Fields, target: TargetRecord) -> Fields:
    said = _write_content(texts[0])
    return said | ({"embedContentConfig": options} if options else {})


_WRITERS = {
    "batchEmbedContents": _write_batch,
    "predict": _write_instances,
    "embedContent": _write_one,
}


def _write_content(text: str) -> Fields:
    return {"content": {"parts": [{"text": text}]}}


def _sum_statistics(found: Sequence[_Embedding]) -> Usage | None:
    """Return the tokens of all texts, None where those of one are not known."""
    counts = [
        read_whole(one.statistics.get("token_count"))
        for one in found
        if isinstance(one.statistics, Mapping)
    ]
    known = [count for count in counts if count is not None]
    return Usage(sum(known)) if len(known) == len(found) else None
