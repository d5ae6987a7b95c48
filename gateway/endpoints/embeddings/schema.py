"""The request and the response of POST /embeddings, as types.

null means absent throughout, so every optional member defaults to None.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.endpoints.reading import PublicName, User

MAX_INPUTS = 2048
MAX_TOKEN_IDS = 300_000
MAX_DIMENSIONS = 65_536
SomeText = Annotated[str, Meta(min_length=1)]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Tokens = Annotated[list[TokenId], Meta(min_length=1)]


class EmbeddingsRequest(Struct, kw_only=True):
    """POST /embeddings. input: one text, one list of token IDs, or a list of either."""

    model: PublicName
    # One of its lists may have more items than there may be inputs: token IDs of one.
    input: (
        SomeText
        | Annotated[list[SomeText | TokenId | Tokens], Meta(min_length=1, max_length=MAX_TOKEN_IDS)]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=MAX_DIMENSIONS)] | None = None
    user: User | None = None
    models: Annotated[list[PublicName], Meta(max_length=5)] | None = None
    episode_id: str | None = msgspec.field(name="tensorzero::episode_id", default=None)
    deny_unknown_fields: bool | None = msgspec.field(
        name="tensorzero::deny_unknown_fields", default=None
    )


KNOWN = frozenset(EmbeddingsRequest.__struct_encode_fields__)
# Members of other endpoints that would change what this one answers, and cannot.
NOT_HERE = frozenset({"stream", "stream_options", "inferada", "plugins", "hi_tool_events"})
decoder = msgspec.json.Decoder(EmbeddingsRequest)


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
    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
