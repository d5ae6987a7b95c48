"""Ranking on Bedrock, by InvokeModel: Cohere's models and Amazon's.

References, below https://docs.aws.amazon.com/bedrock/latest/userguide/: rerank-supported.html,
model-card-cohere-rerank-3-5.html; the body is that of Cohere's API, version 2:
https://docs.cohere.com/v2/reference/rerank

Bedrock reports no usage: searches are counted by the number of documents.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from gateway.core.errors import EndpointNotSupported
from gateway.core.grant import Grant
from gateway.core.rerank import RerankAnswer, RerankCall
from gateway.providers.aws.errors import read_error
from gateway.providers.aws.request import secrets_of_request, write_request
from gateway.providers.base import UpstreamRequest
from gateway.providers.bedrock.chat import SERVICE
from gateway.providers.openai_compatible.rerank import read_ranking
from gateway.providers.ranking import RankingRequest, refuse_stream
from gateway.providers.text_ranking import ALWAYS_TRANSLATED
from gateway.providers.translation import BYTES_PER_TOKEN, fields_of, left_out
from gateway.snapshot.types import TargetRecord

TRANSLATED = ALWAYS_TRANSLATED
# In a model ID, an inference profile or its ARN.
_RANKS = re.compile(r"\b(cohere|amazon)\.rerank-")
API_VERSION = 2
_encode = msgspec.json.encode


class BedrockRerank:
    """Ranking for every provider of the `bedrock` dialect."""

    supported: frozenset[str] = frozenset()

    def check(self, call: RerankCall, target: TargetRecord) -> set[str]:
        """Raises EndpointNotSupported for models that do not rank."""
        if not _RANKS.search(target.native_model):
            message = f"{call.facts.model} does not support rerank."
            raise EndpointNotSupported(message, param="model")
        return left_out(fields_of(call, target), TRANSLATED)

    def build_request(self, call: RerankCall, grant: Grant, target: TargetRecord) -> RankingRequest:
        payload, model = call.payload, target.native_model
        said: dict[str, object] = {
            "query": payload.query,
            "documents": payload.documents,
            "top_n": min(payload.top_n, len(payload.documents)),
        }
        if "cohere." in model:
            said["api_version"] = API_VERSION
        body = _encode(said)
        written = write_request(
            f"{target.base_url}/model/{quote(model, safe='')}/invoke",
            body,
            grant=grant,
            target=target,
            service=SERVICE,
            accept="application/json",
        )
        return RankingRequest(
            url=written.url,
            headers=written.headers,
            body=body,
            hidden=written.hidden,
            prompt_tokens=len(body) // BYTES_PER_TOKEN + 1,
            answers=min(payload.top_n, len(payload.documents)),
            documents=len(payload.documents),
            searches=payload.searches,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        """Raises ProviderUnavailable for anything but a ranking of the documents."""
        return read_ranking(body, request)

    open_decoder = staticmethod(refuse_stream)
    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of_request)
