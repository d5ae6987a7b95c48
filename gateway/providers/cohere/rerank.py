"""Ranking over Cohere's Rerank API, version 2. https://docs.cohere.com/v2/reference/rerank"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gateway.core.rerank import RerankAnswer
from gateway.providers.base import UpstreamRequest
from gateway.providers.openai_compatible.rerank import read_ranking
from gateway.providers.text_ranking import ALWAYS_TRANSLATED, TextRanking

TRANSLATED = ALWAYS_TRANSLATED | {"max_tokens_per_doc"}
# The API's own, which go through as they are.
NATIVE = frozenset({"priority"})


class CohereRerank(TextRanking):
    """Ranking for every provider of the `cohere` dialect."""

    names: ClassVar[Mapping[str, str]] = {
        name: name for name in ("query", "top_n", "max_tokens_per_doc", *NATIVE)
    }

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        return read_ranking(body, request)
