"""The request and the response of POST /rerank, as types: Cohere's, of both its versions.

Reference: https://docs.cohere.com/reference/rerank
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.endpoints.inputs import SomeText
from gateway.endpoints.plain import OF_CHAT, OF_STREAMS, PlainReader, PlainRequest, PromptUsage

MAX_DOCUMENTS = 10_000
Document = SomeText | JsonObject


class RerankRequest(PlainRequest, kw_only=True):
    """POST /rerank. documents: texts, or objects, of which `text` is ranked or else all of it."""

    query: SomeText
    documents: Annotated[list[Document], Meta(min_length=1, max_length=MAX_DOCUMENTS)]
    top_n: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    return_documents: bool | None = None
    max_tokens_per_doc: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None


reader = PlainReader(RerankRequest, what="Rankings", not_here=OF_CHAT | OF_STREAMS)


class RankedDocument(Struct):
    """document: with return_documents, an object that has the text as `text`."""

    index: int
    relevance_score: float
    document: JsonObject | UnsetType = UNSET


class BilledUnits(Struct):
    search_units: int


class RerankMeta(Struct):
    billed_units: BilledUnits


class RerankResponse(Struct, kw_only=True):
    """results: the most relevant first."""

    id: str
    model: str
    results: list[RankedDocument]
    meta: RerankMeta
    usage: PromptUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
