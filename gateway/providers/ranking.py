"""What adapters of rankings have in common.

Documents go to providers as texts, and are given back to the caller from the request, so that no
provider has to send them. Providers that count searches report those; others report tokens, and
searches are counted here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import msgspec

from gateway.core.errors import UnsupportedParameter
from gateway.core.money import Usage
from gateway.core.rerank import Ranked
from gateway.providers.base import UpstreamRequest

OURS_OF_RANKING = frozenset({"return_documents"})


class RankingRequest(UpstreamRequest, kw_only=True):
    """documents, searches: how many there are. first: the place of its first document among those
    of the call. answers: results that are asked for."""

    documents: int
    searches: int
    first: int = 0


def rank(scores: Iterable[tuple[int, msgspec.Raw]], request: UpstreamRequest) -> list[Ranked]:
    """Return as many documents as are asked for, the most relevant first.

    scores: of documents, by their places in the request. Raises ValueError for anything but a
    ranking of those.
    """
    assert isinstance(request, RankingRequest)
    first = request.first
    scored = [(float(bytes(score)), Ranked(first + index, score)) for index, score in scores]
    scored.sort(key=lambda pair: -pair[0])
    places = {one.index for _, one in scored}
    own = range(first, first + request.documents)
    if len(places) != len(scored) or not places <= set(own):
        raise ValueError("These are not the places of the documents.")
    if len(scored) < request.answers:
        raise ValueError("There are too few results.")
    return [one for _, one in scored[: request.answers]]


def usage_of_ranking(
    request: UpstreamRequest, *, tokens: int | None, searches: int | None
) -> Usage | None:
    """Return what was used, None where the provider counted neither."""
    assert isinstance(request, RankingRequest)
    if tokens is None and searches is None:
        return None
    return Usage(tokens or 0, others={"search": request.searches if searches is None else searches})


def refuse_stream(request: UpstreamRequest) -> NoReturn:
    raise UnsupportedParameter("Rankings cannot be streamed.", param="stream")
