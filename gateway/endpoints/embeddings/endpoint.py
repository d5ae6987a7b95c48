"""POST /embeddings: OpenAI's format in and out."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from gateway.core.cost_bound import CostBound
from gateway.core.embeddings import EmbeddingsCall
from gateway.core.errors import UnsupportedParameter
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.embeddings.cost_bound import bound_cost, check_context
from gateway.endpoints.embeddings.describe import describe
from gateway.endpoints.embeddings.read import read_call
from gateway.endpoints.embeddings.write import EmbeddingsWriter
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI
from gateway.snapshot.types import ModelRecord


class Embeddings:
    """An Endpoint (gateway.endpoints.base)."""

    name = "embeddings"
    operation = "embeddings"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("embeddings",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return describe()

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> EmbeddingsCall:
        return read_call(body, head, self._rules)

    def check_context(self, call: EmbeddingsCall, model: ModelRecord) -> None:
        check_context(call, model)

    def cost_bound(self, call: EmbeddingsCall, model: ModelRecord) -> CostBound:
        return bound_cost(call, model)

    def prompt_parts(self, call: EmbeddingsCall) -> PromptParts:
        payload = call.payload
        return PromptParts(messages=0, texts=payload.texts, tokens=sum(payload.token_counts))

    def open_writer(self, call: EmbeddingsCall, form: AnswerForm) -> EmbeddingsWriter:
        return EmbeddingsWriter(form, wants_base64=call.payload.wants_base64)

    def open_stream_writer(self, call: EmbeddingsCall, form: AnswerForm) -> NoReturn:
        raise UnsupportedParameter("Embeddings cannot be streamed.", param="stream")
