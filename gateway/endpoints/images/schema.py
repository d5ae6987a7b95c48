"""The request and the response of POST /images/generations, as types.

Reference: https://platform.openai.com/docs/api-reference/images/create
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.endpoints.plain import OF_CHAT, PlainReader, PlainRequest
from gateway.endpoints.reading import END

MAX_IMAGES = 10
# A word such as 1024x1024, auto, hd: which of them a model knows is the provider's to say.
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_:x.-]{1,32}" + END)]


class ImageRequest(PlainRequest, kw_only=True):
    """POST /images/generations."""

    prompt: Annotated[str, Meta(min_length=1, max_length=100_000)]
    n: Annotated[int, Meta(ge=1, le=MAX_IMAGES)] | None = None
    size: Word | None = None
    quality: Word | None = None
    style: Word | None = None
    background: Word | None = None
    moderation: Word | None = None
    response_format: Literal["url", "b64_json"] | None = None
    output_format: Literal["png", "jpeg", "webp"] | None = None
    output_compression: Annotated[int, Meta(ge=0, le=100)] | None = None


NOT_HERE = OF_CHAT | {"stream", "partial_images"}
WORDS = "1 to 32 letters, digits or _ : . -, such as 1024x1024 or auto"
reader = PlainReader(ImageRequest, what="Images", not_here=NOT_HERE, words=WORDS)


class ImageUsage(Struct):
    """input_tokens, output_tokens: of models that are priced per token."""

    images: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


class ImageResponse(Struct, kw_only=True):
    """data: as the provider wrote it, with url or b64_json."""

    created: int
    data: list[JsonObject]
    background: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    quality: str | UnsetType = UNSET
    size: str | UnsetType = UNSET
    usage: ImageUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
