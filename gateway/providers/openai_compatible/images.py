"""OpenAI's Images API. https://platform.openai.com/docs/api-reference/images/create

Models that OpenAI prices per token report tokens; images are counted by what came.
"""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.grant import Grant
from gateway.core.images import ImagesAnswer
from gateway.core.json_types import JsonValue
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.plain import PlainAdapter
from gateway.providers.token_counts import read_count
from gateway.snapshot.types import TargetRecord

# What an answer says of all its images.
EXTRAS = ("background", "output_format", "quality", "size")


class OpenAIImages(PlainAdapter):
    operation = "images"

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        request = super().build_request(call, grant, target)
        request.answers = call.payload.n
        return request

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ImagesAnswer:
        """Raises ProviderUnavailable for no image, or more than were asked for."""
        try:
            answer = _decode(body)
            are_images = all(map(_is_image, answer.data))
        except MALFORMED:
            raise invalid_answer(body) from None
        if not are_images or not 0 < len(answer.data) <= request.answers:
            raise invalid_answer(body)
        extras = {name: getattr(answer, name) for name in EXTRAS if getattr(answer, name)}
        return ImagesAnswer(answer.data, read_image_usage(answer.usage, len(answer.data)), extras)


class _Image(msgspec.Struct):
    url: str | None = None
    b64_json: str | None = None


class _Answer(msgspec.Struct, kw_only=True):
    """What we read of an answer; the rest is skipped undecoded."""

    data: list[msgspec.Raw]
    usage: object = None
    background: JsonValue = None
    output_format: JsonValue = None
    quality: JsonValue = None
    size: JsonValue = None


_decode = msgspec.json.Decoder(_Answer).decode
_decode_image = msgspec.json.Decoder(_Image).decode


def _is_image(raw: msgspec.Raw) -> bool:
    image = _decode_image(raw)
    return bool(image.url or image.b64_json)


def read_image_usage(raw: object, images: int) -> Usage | None:
    """Return the images, and the tokens where the provider counts them; None where its counts make
    no sense."""
    told = {} if raw is None else raw
    if not isinstance(told, dict):
        return None
    counts = (
        told.get("input_tokens", told.get("prompt_tokens")),
        told.get("output_tokens", told.get("completion_tokens")),
    )
    prompt, output = (0 if count is None else read_count(count) for count in counts)
    if prompt is None or output is None:
        return None
    return Usage(prompt, output, others={"image": images})
