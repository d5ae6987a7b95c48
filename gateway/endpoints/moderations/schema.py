"""The request and the response of POST /moderations, as types.

Reference: https://platform.openai.com/docs/api-reference/moderations
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.endpoints.inputs import SomeText
from gateway.endpoints.plain import OF_CHAT, OF_STREAMS, PlainReader, PlainRequest, PromptUsage
from gateway.endpoints.reading import PublicName

MAX_INPUTS = 2048
# OpenAI's default, which its SDKs leave out.
DEFAULT_MODEL = "omni-moderation-latest"
ImageAddress = Annotated[
    # No \s: what counts as a space is not the same in Python and in JSON Schema.
    str, Meta(pattern=r"^([Hh][Tt][Tt][Pp][Ss]?://[^/\x00-\x20]|[Dd][Aa][Tt][Aa]:image/)")
]


class ModeratedImageUrl(Struct):
    url: ImageAddress


class ModeratedText(Struct, tag_field="type", tag="text"):
    text: SomeText


class ModeratedImage(Struct, tag_field="type", tag="image_url"):
    image_url: ModeratedImageUrl


class ModerationRequest(PlainRequest, kw_only=True):
    """POST /moderations. input: one text, several, or the texts and images of one message."""

    model: PublicName = DEFAULT_MODEL
    input: (
        SomeText
        | Annotated[
            list[SomeText | ModeratedText | ModeratedImage],
            Meta(min_length=1, max_length=MAX_INPUTS),
        ]
    )


reader = PlainReader(
    ModerationRequest,
    what="Moderations",
    not_here=OF_CHAT | OF_STREAMS,
    words="a URL that begins with https://, http:// or data:image/",
)


class ModerationResponse(Struct, kw_only=True):
    """results: as the provider wrote them."""

    id: str
    model: str
    results: list[JsonObject]
    usage: PromptUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
