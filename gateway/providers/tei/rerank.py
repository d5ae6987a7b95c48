"""Ranking by Text Embeddings Inference.

Reference: https://huggingface.github.io/text-embeddings-inference/#/Text%20Embeddings%20Inference/rerank
A server has one model, counts no tokens, and ranks all documents: the first are taken here. Texts
that are too long are refused there unless it is told to cut them, as all others do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from gateway.core.rerank import RerankAnswer
from gateway.providers.base import UpstreamRequest
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.ranking import rank
from gateway.providers.text_ranking import ALWAYS_TRANSLATED, TextRanking

TRANSLATED = ALWAYS_TRANSLATED
# The API's own, which go through as they are.
NATIVE = frozenset({"raw_scores", "truncate", "truncation_direction"})


class TeiRerank(TextRanking):
    """Ranking for every provider of the `tei` dialect."""

    names: ClassVar[Mapping[str, str]] = {name: name for name in ("query", *NATIVE)}
    documents = "texts"
    defaults: ClassVar[Mapping[str, object]] = {"truncate": True}

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        """Raises ProviderUnavailable for anything but a ranking of the documents."""
        try:
            found = _decode(body)
            return RerankAnswer(rank([(one.index, one.score) for one in found], request), None)
        except MALFORMED:
            raise invalid_answer(body) from None


class _Result(msgspec.Struct):
    index: int
    score: msgspec.Raw


_decode = msgspec.json.Decoder(list[_Result]).decode
