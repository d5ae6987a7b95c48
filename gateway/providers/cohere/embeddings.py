"""Embeddings over Cohere's Embed API, version 2. https://docs.cohere.com/v2/reference/embed

The API has to be told what an embedding is for. Where the caller does not say, it is for a document
that will be searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.embeddings import EmbeddingsAnswer, EmbeddingsCall
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.providers.cohere.billed_units import read_billed
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.request import write_headers
from gateway.providers.secrets import secrets_of
from gateway.providers.text_embeddings import (
    TRANSLATED,
    check_texts,
    in_parts,
    refuse_stream,
)
from gateway.providers.translation import wanted_fields
from gateway.providers.upstream_errors import read_error
from gateway.providers.vectors import read_all_numbers
from gateway.snapshot.types import TargetRecord

__all__ = ["MOST_TEXTS", "NATIVE", "TRANSLATED", "CohereEmbeddings"]

# The API's own, which go through as they are.
NATIVE = frozenset({"input_type", "truncate", "max_tokens", "priority"})
MOST_TEXTS = 96
FOR_DOCUMENTS = "search_document"
_encode = msgspec.json.encode


class CohereEmbeddings:
    """Embeddings for every provider of the `cohere` dialect."""

    supported: frozenset[str] = frozenset()

    def check(self, call: EmbeddingsCall, target: TargetRecord) -> set[str]:
        return check_texts(call, target, NATIVE)

    def build_request(
        self, call: EmbeddingsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        said = write_options(wanted_fields(call, grant, target), NATIVE)

        def write(texts: Sequence[str]) -> UpstreamRequest:
            return UpstreamRequest(
                url=f"{target.base_url}/embed",
                headers=write_headers(grant, target),
                body=_encode({"model": target.native_model, "texts": texts, **said}),
            )

        return in_parts(call.payload.texts, MOST_TEXTS, write)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
        """Raises ProviderUnavailable unless there is one vector for each input."""
        return read_embed(body, request)

    open_decoder = staticmethod(refuse_stream)
    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


class ByType(msgspec.Struct):
    """The vectors of each type that was asked for."""

    float: list[msgspec.Raw]


class _Answer(msgspec.Struct):
    """What we read of an answer; the rest is skipped undecoded."""

    embeddings: ByType
    meta: object = None


_decode = msgspec.json.Decoder(_Answer).decode


def write_options(fields: Mapping[str, bytes], native: frozenset[str]) -> dict[str, object]:
    """Return what a request has beside its model and its texts. native: fields of the API's own
    that may be among it."""
    said: dict[str, object] = {"input_type": FOR_DOCUMENTS, "embedding_types": ["float"]}
    if "dimensions" in fields:
        said["output_dimension"] = msgspec.Raw(fields["dimensions"])
    return said | {name: msgspec.Raw(fields[name]) for name in native & fields.keys()}


def read_embed(body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
    """Return the vectors, and the tokens that are billed. Raises ProviderUnavailable."""
    try:
        answer = _decode(body)
        vectors = read_all_numbers(answer.embeddings.float, request.answers)
    except MALFORMED:
        raise invalid_answer(body) from None
    tokens = read_billed(answer.meta, "input_tokens")
    return EmbeddingsAnswer(vectors, None if tokens is None else Usage(tokens))
