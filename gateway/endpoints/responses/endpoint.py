"""POST /responses: OpenAI's Responses format in and out."""

from __future__ import annotations

from typing import ClassVar

from gateway.core.chat import ChatCall
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.cost_bound import bound_cost, check_context
from gateway.endpoints.chat_completions.prompt_parts import read_prompt
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.responses.describe import describe
from gateway.endpoints.responses.payload import ResponsesPayload
from gateway.endpoints.responses.read import read_call
from gateway.endpoints.responses.write import EventWriter, ResponseWriter
from gateway.endpoints.rules import Rules
from gateway.http.api_format import RESPONSES


class Responses:
    """An Endpoint (gateway.endpoints.base)."""

    name = "responses"
    operation = "chat"
    scope = "completions"
    api_format = RESPONSES
    paths: ClassVar[tuple[str, ...]] = ("responses",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return describe()

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        return read_call(body, head, profile, self._rules)

    check_context = staticmethod(check_context)
    cost_bound = staticmethod(bound_cost)
    prompt_parts = staticmethod(read_prompt)

    def open_writer(self, call: ChatCall, form: AnswerForm) -> ResponseWriter:
        assert isinstance(call.payload, ResponsesPayload)
        return ResponseWriter(form, call.payload.settings)

    def open_stream_writer(self, call: ChatCall, form: AnswerForm) -> EventWriter:
        assert isinstance(call.payload, ResponsesPayload)
        return EventWriter(form, call.payload.settings)
