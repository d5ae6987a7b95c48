"""Ranking in Cohere's format by those who took it over: https://docs.cohere.com/reference/rerank

vLLM, Together, Fireworks and others take the same request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.core.rerank import RerankAnswer, RerankRequest
from gateway.providers.base import UpstreamRequest
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.plain import PlainAdapter
from gateway.providers.openai_compatible.request import change_fields
from gateway.providers.ranking import (
    OURS_OF_RANKING,
    RankingRequest,
    rank,
    usage_of_ranking,
)
from gateway.providers.token_counts import read_whole
from gateway.snapshot.types import TargetRecord


class OpenAIRerank(PlainAdapter):
    """For providers of the `openai` dialect that have it."""

    operation = "rerank"

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> RankingRequest:
        payload = call.payload
        assert isinstance(payload, RerankRequest)
        changed = change_fields(payload, grant, target)
        changed |= dict.fromkeys(OURS_OF_RANKING)
        changed["documents"] = msgspec.json.encode(payload.documents)
        made = self._request(target, grant, payload.fields, changed)
        return RankingRequest(
            url=made.url,
            headers=made.headers,
            body=made.body,
            prompt_tokens=made.prompt_tokens,
            answers=payload.top_n,
            documents=len(payload.documents),
            searches=payload.searches,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> RerankAnswer:
        """Raises ProviderUnavailable for anything but a ranking of the documents."""
        return read_ranking(body, request)


class _Result(msgspec.Struct):
    index: int
    relevance_score: msgspec.Raw


class _Answer(msgspec.Struct):
    """What we read of an answer; the rest is skipped undecoded."""

    results: list[_Result]
    meta: object = None
    usage: object = None


_decode = msgspec.json.Decoder(_Answer).decode


def read_ranking(body: bytes, request: UpstreamRequest) -> RerankAnswer:
    """Return an answer in Cohere's format. Raises ProviderUnavailable for anything but a ranking of
    the documents."""
    try:
        answer = _decode(body)
        results = rank([(one.index, one.relevance_score) for one in answer.results], request)
    except MALFORMED:
        raise invalid_answer(body) from None
    return RerankAnswer(results, _read_usage(answer, request))


def _read_usage(answer: _Answer, request: UpstreamRequest) -> Usage | None:
    """Return what the provider counted, None where it counted nothing, or what cannot be."""
    reports = [told for told in (answer.usage, answer.meta) if isinstance(told, Mapping)]
    units = [told.get("billed_units") for told in reports]
    try:
        tokens = _read_first(
            told.get("prompt_tokens", told.get("total_tokens")) for told in reports
        )
        searches = _read_first(
            told.get("search_units") for told in units if isinstance(told, Mapping)
        )
    except ValueError:
        return None
    return usage_of_ranking(request, tokens=tokens, searches=searches)


def _read_first(told: Iterable[object]) -> int | None:
    """Return the first count that there is. Raises ValueError where it cannot be one."""
    given = next((value for value in told if value is not None), None)
    count = read_whole(given)
    if count is None and given is not None:
        raise ValueError("This is no count.")
    return count
