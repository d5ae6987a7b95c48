"""The request and the response of POST /embeddings, as types.

null means absent throughout, so every optional member defaults to None.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.endpoints.inputs import MAX_TOKEN_IDS, OTHER_ITEMS, Inputs
from gateway.endpoints.plain import OF_CHAT, OF_STREAMS, PlainReader, PlainRequest

MAX_INPUTS = 2048
MAX_DIMENSIONS = 65_536


class EmbeddingsRequest(PlainRequest, kw_only=True):
    """POST /embeddings. input: one text, one list of token IDs, or a list of either."""

    input: Inputs
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=MAX_DIMENSIONS)] | None = None


reader = PlainReader(
    EmbeddingsRequest,
    what="Embeddings",
    not_here=OF_CHAT | OF_STREAMS,
    max_items=MAX_TOKEN_IDS + OTHER_ITEMS,
)


class Embedding(Struct):
    """embedding: numbers, or with encoding_format base64 their 32-bit floats, little-endian."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingsUsage(Struct):
    prompt_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


class EmbeddingsResponse(Struct, kw_only=True):
    # OpenAI has none. Mistral's SDK does not read a response without.
    id: str
    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
