"""A request for images, and the images."""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.events import AnswerMeter, Fields
from gateway.core.money import Usage


class ImagesRequest(Payload, frozen=True, kw_only=True):
    """What a request for images asks for: `n` of them."""

    operation = "images"

    prompt: str
    prompt_tokens_bound: int = 0


ImagesCall = Call[ImagesRequest]


class ImagesAnswer(msgspec.Struct, frozen=True):
    """images: each as the provider wrote it, a URL or base64. extras: what else it says of them."""

    images: list[msgspec.Raw]
    usage: Usage | None
    extras: Fields = msgspec.field(default_factory=dict)

    def note(self, meter: AnswerMeter) -> None:
        meter.count_other_output(len(self.images))

    def forget(self) -> None:
        self.images.clear()
