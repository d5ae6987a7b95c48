"""POST /moderations: OpenAI's format in and out."""

from __future__ import annotations

from typing import ClassVar, NoReturn, cast

import msgspec
from msgspec import UNSET

from gateway.core.call import Call
from gateway.core.cost_bound import CostBound
from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.events import Answer
from gateway.core.json_types import JsonObject
from gateway.core.moderations import ModerationsAnswer, ModerationsCall, ModerationsRequest
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.core.token_bounds import TOKENS_PER_IMAGE
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.inputs import bound_inputs
from gateway.endpoints.json_schema import complete_plain
from gateway.endpoints.moderations.schema import (
    ModeratedImage,
    ModerationRequest,
    ModerationResponse,
    reader,
)
from gateway.endpoints.plain import bound_prompt, write_prompt_usage
from gateway.endpoints.rules import USUAL, Rules
from gateway.http.api_format import OPENAI
from gateway.snapshot.types import ModelRecord

Parts = tuple[list[str], list[tuple[str, str]]]


class Moderations:
    """An Endpoint (gateway.endpoints.base)."""

    name = "moderations"
    operation = "moderations"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("moderations",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createModeration",
            summary="Classify texts and images",
            answer="One result for each text, or one for a message of texts and images.",
            request=ModerationRequest,
            response=ModerationResponse,
            examples={"text": {"model": "tollhouse/simulated", "input": "I love bread."}},
            complete=complete,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ModerationsCall:
        return read_call(body, head, self._rules)

    def check_context(self, call: ModerationsCall, model: ModelRecord) -> None:
        """Providers cut what is too long."""

    def cost_bound(self, call: ModerationsCall, model: ModelRecord) -> CostBound:
        return bound_prompt(model, call.payload.prompt_tokens_bound)

    def prompt_parts(self, call: ModerationsCall) -> PromptParts:
        return PromptParts(messages=0, texts=call.payload.texts)

    def open_writer(self, call: ModerationsCall, form: AnswerForm) -> ModerationsWriter:
        return ModerationsWriter(form)

    def open_stream_writer(self, call: ModerationsCall, form: AnswerForm) -> NoReturn:
        raise UnsupportedParameter("Moderations cannot be streamed.", param="stream")


def complete(schemas: Schemas) -> None:
    request = schemas[ModerationRequest.__name__]
    text, many = request["properties"]["input"]["anyOf"]
    texts = [kind for kind in many["items"]["anyOf"] if kind.get("type") == "string"]
    parts = [kind for kind in many["items"]["anyOf"] if kind.get("type") != "string"]
    lists = [many | {"items": {"anyOf": kinds}} for kinds in (texts, parts)]
    request["properties"]["input"] = {"anyOf": [text, *lists]}
    complete_plain(request, reader.known, reader.not_here)


def read_call(body: bytes, head: RequestHead, rules: Rules = USUAL) -> ModerationsCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    request, fields, unknown, facts = reader.read(body, head, rules)
    texts, urls = _read_inputs(request)
    is_message = isinstance(request.input, list) and not isinstance(request.input[0], str)
    payload = ModerationsRequest(
        fields=fields,
        unknown=unknown,
        texts=tuple(texts),
        results=1 if is_message else len(texts),
        media_urls=tuple((param, url) for param, url in urls if url[:5].lower() != "data:"),
        prompt_tokens_bound=bound_inputs(texts, ()) + TOKENS_PER_IMAGE * len(urls),
    )
    return Call(facts, payload)


def _read_inputs(request: ModerationRequest) -> Parts:
    """Return the texts, and the addresses of images after their places."""
    texts: list[str] = []
    urls: list[tuple[str, str]] = []
    given = [request.input] if isinstance(request.input, str) else request.input
    are_texts = isinstance(given[0], str)
    for index, one in enumerate(given):
        if isinstance(one, str) != are_texts:
            raise RequestError(
                "input must be a list of strings, or of text and image_url objects.",
                param=f"input[{index}]",
            )
        if isinstance(one, ModeratedImage):
            urls.append((f"input[{index}].image_url.url", one.image_url.url))
        else:
            texts.append(one if isinstance(one, str) else one.text)
    return texts, urls


class ModerationsWriter:
    """A Writer (gateway.endpoints.base)."""

    def __init__(self, form: AnswerForm) -> None:
        self._form = form

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, ModerationsAnswer)
        form = self._form
        return msgspec.json.encode(
            ModerationResponse(
                id=f"modr-{form.call_id}",
                model=form.model,
                results=cast(list[JsonObject], answer.results),
                usage=write_prompt_usage(receipt),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
            )
        )
