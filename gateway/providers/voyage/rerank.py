"""Ranking over Voyage AI's API. https://docs.voyageai.com/reference/reranker-api"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from gateway.core.rerank import RerankAnswer
from gateway.providers.base import UpstreamRequest
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.ranking import rank, usage_of_ranking
from gateway.providers.text_ranking import ALWAYS_TRANSLATED, TextRanking
from gateway.providers.token_counts import read_count

TRANSLATED = ALWAYS_TRANSLATED
# The API's own, which go through as they are.
NATIVE = frozenset({"truncation"})


class VoyageRerank(TextRanking):
    """Ranking for every provider of the `voyage` dialect."""

    names: ClassVar[Mapping[str, str]] = {
        "query": "query",
        "top_n": "top_k",
        "truncation": "truncation",
    }

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        """Raises ProviderUnavailable for anything but a ranking of the documents."""
        try:
            answer = _decode(body)
            results = rank([(one.index, one.relevance_score) for one in answer.data], request)
        except MALFORMED:
            raise invalid_answer(body) from None
        report = answer.usage
        tokens = read_count(report.get("total_tokens")) if isinstance(report, Mapping) else None
        return RerankAnswer(results, usage_of_ranking(request, tokens=tokens, searches=None))


class _Result(msgspec.Struct):
    index: int
    relevance_score: msgspec.Raw


class _Answer(msgspec.Struct):
    """What we read of an answer; the rest is skipped undecoded."""

    data: list[_Result]
    usage: object = None


_decode = msgspec.json.Decoder(_Answer).decode
