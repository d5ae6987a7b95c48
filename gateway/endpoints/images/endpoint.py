"""POST /images/generations: OpenAI's format in and out."""

from __future__ import annotations

from typing import ClassVar, NoReturn, cast

import msgspec
from msgspec import UNSET, UnsetType

from gateway.core.call import Call
from gateway.core.cost_bound import CostBound
from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.events import Answer
from gateway.core.images import ImagesAnswer, ImagesCall, ImagesRequest
from gateway.core.json_types import JsonObject
from gateway.core.money import usd
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.images.schema import (
    NOT_HERE,
    ImageRequest,
    ImageResponse,
    ImageUsage,
    reader,
)
from gateway.endpoints.json_schema import complete_plain
from gateway.endpoints.plain import bound_prompt
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI
from gateway.snapshot.types import ModelRecord


class Images:
    """An Endpoint (gateway.endpoints.base)."""

    name = "images"
    operation = "images"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("images/generations",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createImage",
            summary="Create images",
            answer="The images, as URLs or in base64.",
            request=ImageRequest,
            response=ImageResponse,
            examples={"one": {"model": "tollhouse/simulated", "prompt": "A red bicycle"}},
            complete=complete,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ImagesCall:
        request, fields, unknown, facts = reader.read(body, head, self._rules)
        if request.n is not None and request.n > 1 and not profile.allows_many_choices:
            raise RequestError("n must be 1.", param="n")
        payload = ImagesRequest(
            fields=fields,
            unknown=unknown,
            n=request.n or 1,
            prompt=request.prompt,
            prompt_tokens_bound=bound_tokens(request.prompt),
        )
        return Call(facts, payload)

    def check_context(self, call: ImagesCall, model: ModelRecord) -> None:
        """Providers say how long a prompt may be."""

    def cost_bound(self, call: ImagesCall, model: ModelRecord) -> CostBound:
        """An image's tokens cannot be limited: where they have a price, each image may have as many
        as the model's output."""
        payload = call.payload
        units = {"image": payload.n, "completion": payload.n * model.max_output_tokens}
        return bound_prompt(model, payload.prompt_tokens_bound, units)

    def prompt_parts(self, call: ImagesCall) -> PromptParts:
        payload = call.payload
        return PromptParts(messages=0, texts=[payload.prompt], units={"image": payload.n})

    def open_writer(self, call: ImagesCall, form: AnswerForm) -> ImagesWriter:
        return ImagesWriter(form)

    def open_stream_writer(self, call: ImagesCall, form: AnswerForm) -> NoReturn:
        raise UnsupportedParameter("Images cannot be streamed.", param="stream")


def complete(schemas: Schemas) -> None:
    complete_plain(schemas[ImageRequest.__name__], reader.known, NOT_HERE)


class ImagesWriter:
    """A Writer (gateway.endpoints.base)."""

    def __init__(self, form: AnswerForm) -> None:
        self._form = form

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, ImagesAnswer)
        form, usage = self._form, receipt.usage

        def said(name: str) -> str | UnsetType:
            value = answer.extras.get(name)
            return value if isinstance(value, str) else UNSET

        return msgspec.json.encode(
            ImageResponse(
                created=form.created,
                data=cast(list[JsonObject], answer.images),
                background=said("background"),
                output_format=said("output_format"),
                quality=said("quality"),
                size=said("size"),
                usage=ImageUsage(
                    usage.others.get("image", 0),
                    usage.prompt_tokens,
                    usage.completion_tokens,
                    usage.prompt_tokens + usage.completion_tokens,
                    usd(receipt.charge_nusd),
                ),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
            )
        )
