"""The request and the response of POST /moderations, as types.

Reference: https://platform.openai.com/docs/api-reference/moderations
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.json_types import JsonObject
from gateway.endpoints.inputs import SomeText
from gateway.endpoints.plain import OF_CHAT, OF_STREAMS, PlainReader, PlainRequest, PromptUsage

MAX_INPUTS = 2048
ImageAddress = Annotated[
    str, Meta(pattern=r"^([Hh][Tt][Tt][Pp][Ss]?://[^/\s]|[Dd][Aa][Tt][Aa]:image/)")
]


class ModeratedImageUrl(Struct):
    url: ImageAddress


class ModeratedText(Struct, tag_field="type", tag="text"):
    text: SomeText


class ModeratedImage(Struct, tag_field="type", tag="image_url"):
    image_url: ModeratedImageUrl


class ModerationRequest(PlainRequest, kw_only=True):
    """POST /moderations. input: one text, several, or the texts and images of one message."""

    input: (
        SomeText
        | Annotated[
            list[SomeText | ModeratedText | ModeratedImage],
            Meta(min_length=1, max_length=MAX_INPUTS),
        ]
    )


reader = PlainReader(ModerationRequest, what="Moderations", not_here=OF_CHAT | OF_STREAMS)


class ModerationResponse(Struct, kw_only=True):
    """results: as the provider wrote them."""

    id: str
    model: str
    results: list[JsonObject]
    usage: PromptUsage
    credits_used: float
    episode_id: str | UnsetType = UNSET
