"""POST /chat/completions: OpenAI's format in and out."""

from __future__ import annotations

from typing import ClassVar

from gateway.core.chat import ChatCall
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.cost_bound import bound_cost, check_context
from gateway.endpoints.chat_completions.describe import describe
from gateway.endpoints.chat_completions.prompt_parts import read_prompt
from gateway.endpoints.chat_completions.read import read_call
from gateway.endpoints.chat_completions.write import AnswerWriter, ChunkWriter
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI


class ChatCompletions:
    """An Endpoint (gateway.endpoints.base)."""

    name = "chat_completions"
    operation = "chat"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("chat/completions",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return describe(self._rules)

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        return read_call(body, head, profile, self._rules)

    check_context = staticmethod(check_context)
    cost_bound = staticmethod(bound_cost)
    prompt_parts = staticmethod(read_prompt)

    def open_writer(self, call: ChatCall, form: AnswerForm) -> AnswerWriter:
        return AnswerWriter(form)

    def open_stream_writer(self, call: ChatCall, form: AnswerForm) -> ChunkWriter:
        return ChunkWriter(form, include_usage=call.payload.include_usage)
