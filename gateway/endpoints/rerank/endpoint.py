"""POST /rerank: Cohere's format in and out."""

from __future__ import annotations

from typing import ClassVar, NoReturn, cast

import msgspec
from msgspec import UNSET, UnsetType

from gateway.core.cost_bound import CostBound
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import Answer
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.core.rerank import RerankAnswer, RerankCall, RerankRequest
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import complete_plain
from gateway.endpoints.plain import bound_prompt, write_prompt_usage
from gateway.endpoints.rerank import schema
from gateway.endpoints.rerank.read import read_call
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI
from gateway.snapshot.types import ModelRecord


class Rerank:
    """An Endpoint (gateway.endpoints.base)."""

    name = "rerank"
    operation = "rerank"
    scope = "completions"
    api_format = OPENAI
    # The second is where Cohere's SDK asks whose base URL is a mount.
    paths: ClassVar[tuple[str, ...]] = ("rerank", "v2/rerank")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createRanking",
            summary="Rank documents by relevance",
            answer="The documents by their index, the most relevant first.",
            request=schema.RerankRequest,
            response=schema.RerankResponse,
            examples={
                "texts": {
                    "model": "tollhouse/simulated",
                    "query": "How to bake bread?",
                    "documents": ["Red bicycles", "Bread needs an oven"],
                    "top_n": 1,
                }
            },
            complete=complete,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> RerankCall:
        return read_call(body, head, self._rules)

    def check_context(self, call: RerankCall, model: ModelRecord) -> None:
        """Providers cut what is too long."""

    def cost_bound(self, call: RerankCall, model: ModelRecord) -> CostBound:
        payload = call.payload
        units = {"search": payload.most_searches}
        return bound_prompt(model, payload.prompt_tokens_bound, units)

    def prompt_parts(self, call: RerankCall) -> PromptParts:
        payload = call.payload
        texts = [payload.query, *payload.documents]
        return PromptParts(messages=0, texts=texts, units={"search": payload.searches})

    def open_writer(self, call: RerankCall, form: AnswerForm) -> RerankWriter:
        return RerankWriter(form, call.payload)

    def open_stream_writer(self, call: RerankCall, form: AnswerForm) -> NoReturn:
        raise UnsupportedParameter("Rankings cannot be streamed.", param="stream")


def complete(schemas: Schemas) -> None:
    request = schemas[schema.RerankRequest.__name__]
    documents = request["properties"]["documents"]["items"]
    for kind in documents["anyOf"]:
        if kind.get("type") == "object":
            kind |= {"minProperties": 1, "properties": {"text": {"type": "string", "minLength": 1}}}
    complete_plain(request, schema.reader.known, schema.reader.not_here)


class RerankWriter:
    """A Writer (gateway.endpoints.base)."""

    def __init__(self, form: AnswerForm, asked: RerankRequest) -> None:
        self._form = form
        self._asked = asked

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, RerankAnswer)
        form = self._form
        searches = receipt.usage.others.get("search", 0)
        return msgspec.json.encode(
            schema.RerankResponse(
                id=form.call_id,
                model=form.model,
                results=[
                    # The number as the provider wrote it.
                    schema.RankedDocument(one.index, cast(float, one.score), self._show(one.index))
                    for one in answer.results[: self._asked.top_n]
                ],
                meta=schema.RerankMeta(schema.BilledUnits(searches)),
                usage=write_prompt_usage(receipt),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
            )
        )

    def _show(self, index: int) -> JsonObject | UnsetType:
        if not self._asked.returns_documents:
            return UNSET
        raw = self._asked.given[index]
        if bytes(raw).startswith(b'"'):
            return {"text": raw}
        return cast(JsonObject, raw)
