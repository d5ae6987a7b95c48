"""A request to rank documents by their relevance to a query, and the ranking."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.events import AnswerMeter
from gateway.core.money import Usage, sum_known
from gateway.core.token_bounds import bound_tokens

# A search is a query with up to so many documents. A document with its query that is longer than so
# many tokens counts as several: https://docs.cohere.com/docs/how-does-cohere-pricing-work
DOCUMENTS_PER_SEARCH = 100
TOKENS_PER_DOCUMENT = 500
# What a document is cut to where nobody says.
MAX_TOKENS_PER_DOCUMENT = 4096


def count_searches(documents: int) -> int:
    """Return how many searches it is to rank so many documents."""
    return -(-documents // DOCUMENTS_PER_SEARCH)


class RerankRequest(Payload, frozen=True, kw_only=True):
    """The documents as texts; `given` has each as the caller wrote it, raw JSON."""

    operation = "rerank"

    query: str
    documents: tuple[str, ...]
    given: Sequence[msgspec.Raw] = ()
    # Results that are asked for.
    top_n: int
    returns_documents: bool = False
    # Documents are cut to so many tokens; None where the provider decides.
    max_tokens_per_doc: int | None = None
    prompt_tokens_bound: int = 0

    @property
    def searches(self) -> int:
        """How many searches it is, by the number of its documents."""
        return count_searches(len(self.documents))

    @property
    def most_searches(self) -> int:
        """How many searches it can be at most, by the length of its documents."""
        query, most = bound_tokens(self.query), self.max_tokens_per_doc or MAX_TOKENS_PER_DOCUMENT
        tokens = (query + min(bound_tokens(document), most) for document in self.documents)
        parts = sum(max(-(-count // TOKENS_PER_DOCUMENT), 1) for count in tokens)
        return -(-parts // DOCUMENTS_PER_SEARCH)


RerankCall = Call[RerankRequest]


class Ranked(msgspec.Struct, frozen=True):
    """A document by its place in the request. score: the number as the provider wrote it."""

    index: int
    score: msgspec.Raw


class RerankAnswer(msgspec.Struct, frozen=True):
    """The most relevant document first."""

    results: list[Ranked]
    usage: Usage | None

    def note(self, meter: AnswerMeter) -> None:
        meter.count_other_output(max(len(self.results), 1))

    def forget(self) -> None:
        self.results.clear()


def join_rankings(answers: Sequence[RerankAnswer]) -> RerankAnswer:
    """Return the rankings of parts of the documents as one: a score tells how relevant a document
    is whatever the others are."""
    results = [one for answer in answers for one in answer.results]
    results.sort(key=lambda one: -float(bytes(one.score)))
    return RerankAnswer(results, sum_known([answer.usage for answer in answers]))
