"""Ranking over Jina AI's API. https://api.jina.ai/redoc#tag/rerank

It sends the documents back unless it is told not to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gateway.core.rerank import RerankAnswer
from gateway.providers.base import UpstreamRequest
from gateway.providers.openai_compatible.rerank import read_ranking
from gateway.providers.text_ranking import ALWAYS_TRANSLATED, TextRanking

TRANSLATED = ALWAYS_TRANSLATED


class JinaRerank(TextRanking):
    """Ranking for every provider of the `jina` dialect."""

    names: ClassVar[Mapping[str, str]] = {name: name for name in ("query", "top_n")}
    defaults: ClassVar[Mapping[str, object]] = {"return_documents": False}

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        return read_ranking(body, request)
