"""Embeddings on Bedrock, by InvokeModel: models of Amazon's Titan, one text in a request, and of
Cohere's.

References, below https://docs.aws.amazon.com/bedrock/latest/userguide/:
model-parameters-titan-embed-text.html, model-parameters-titan-embed-mm.html,
model-parameters-embed-v3.html and model-parameters-embed-v4.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec

from gateway.core.embeddings import EmbeddingsAnswer, EmbeddingsCall
from gateway.core.errors import EndpointNotSupported
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.aws.errors import read_error
from gateway.providers.aws.request import secrets_of_request, write_request
from gateway.providers.base import UpstreamRequest
from gateway.providers.bedrock.chat import SERVICE
from gateway.providers.cohere import embeddings as cohere
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.text_embeddings import TRANSLATED, check_texts, in_parts, refuse_stream
from gateway.providers.token_counts import read_count
from gateway.providers.translation import wanted_fields
from gateway.providers.vectors import read_all_numbers
from gateway.snapshot.types import TargetRecord

__all__ = ["MOST_TEXTS", "NATIVE", "TRANSLATED", "BedrockEmbeddings"]

# Fields of the models' own, which go through as they are.
OF_TITAN = frozenset({"normalize"})
OF_COHERE = cohere.NATIVE - {"priority"}
NATIVE = OF_TITAN | OF_COHERE
MOST_TEXTS = f"Cohere {cohere.MOST_TEXTS}, Titan 1"
# In a model ID, an inference profile or its ARN.
_COHERE = re.compile(r"\bcohere\.embed-")
_TITAN = re.compile(r"\bamazon\.titan-embed-")
_TITAN_OF_IMAGES = re.compile(r"\bamazon\.titan-embed-image-")
# Where InvokeModel counts what the answer does not.
TOKENS_FIELD = "x-amzn-bedrock-input-token-count"
MOST_DIGITS = 10
_encode = msgspec.json.encode


class BedrockEmbeddings:
    """Embeddings for every provider of the `bedrock` dialect."""

    supported: frozenset[str] = frozenset()

    def check(self, call: EmbeddingsCall, target: TargetRecord) -> set[str]:
        """Raises EndpointNotSupported for other models: each maker has a format of its own."""
        model = target.native_model
        if _COHERE.search(model):
            return check_texts(call, target, OF_COHERE)
        if _TITAN.search(model):
            return check_texts(call, target, OF_TITAN)
        raise EndpointNotSupported(
            f"{call.facts.model} does not support embeddings.", param="model"
        )

    def build_request(
        self, call: EmbeddingsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        fields = wanted_fields(call, grant, target)
        model = target.native_model
        is_cohere = _COHERE.search(model) is not None
        said = cohere.write_options(fields, OF_COHERE) if is_cohere else _titan(fields, model)

        def write(texts: Sequence[str]) -> UpstreamRequest:
            request = write_request(
                f"{target.base_url}/model/{quote(model, safe='')}/invoke",
                _encode({"texts": texts, **said} if is_cohere else {"inputText": texts[0], **said}),
                grant=grant,
                target=target,
                service=SERVICE,
                accept="application/json",
            )
            request.answer_headers = {}
            return request

        return in_parts(call.payload.texts, cohere.MOST_TEXTS if is_cohere else 1, write)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
        """Raises ProviderUnavailable unless there is one vector for each input."""
        try:
            answer = _decode(body)
            vectors = read_all_numbers(answer.vectors, request.answers)
        except MALFORMED:
            raise invalid_answer(body) from None
        tokens = read_count(answer.tokens)
        if tokens is None:
            tokens = _read_header((request.answer_headers or {}).get(TOKENS_FIELD, ""))
        return EmbeddingsAnswer(vectors, None if tokens is None else Usage(tokens))

    open_decoder = staticmethod(refuse_stream)
    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of_request)


class _Answer(msgspec.Struct):
    """What we read of Titan's answers, and of Cohere's; the rest is skipped undecoded."""

    embedding: msgspec.Raw = msgspec.Raw()
    tokens: object = msgspec.field(default=None, name="inputTextTokenCount")
    embeddings: cohere.ByType | None = None

    @property
    def vectors(self) -> list[msgspec.Raw]:
        if bytes(self.embedding):
            return [self.embedding]
        return self.embeddings.float if self.embeddings else []


_decode = msgspec.json.Decoder(_Answer).decode


def _titan(fields: Mapping[str, bytes], model: str) -> dict[str, object]:
    """Return what a request to one of Titan's models has beside the text."""
    said: dict[str, object] = {name: msgspec.Raw(fields[name]) for name in OF_TITAN & fields.keys()}
    if "dimensions" not in fields:
        return said
    size = msgspec.Raw(fields["dimensions"])
    if _TITAN_OF_IMAGES.search(model):
        return said | {"embeddingConfig": {"outputEmbeddingLength": size}}
    return said | {"dimensions": size}


def _read_header(text: str) -> int | None:
    is_count = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return read_count(int(text)) if is_count else None
