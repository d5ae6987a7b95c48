"""POST /messages: Anthropic's format in and out."""

from __future__ import annotations

from typing import ClassVar

from gateway.core.chat import ChatCall
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.cost_bound import bound_cost, check_context
from gateway.endpoints.chat_completions.prompt_parts import read_prompt
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.messages.describe import describe
from gateway.endpoints.messages.read import read_call
from gateway.endpoints.messages.write import MessageStreamWriter, MessageWriter
from gateway.endpoints.rules import Rules
from gateway.http.api_format import ANTHROPIC


class Messages:
    """An Endpoint (gateway.endpoints.base)."""

    name = "anthropic_messages"
    operation = "chat"
    scope = "completions"
    api_format = ANTHROPIC
    paths: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return describe(self._rules)

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        return read_call(body, head, self._rules)

    check_context = staticmethod(check_context)
    cost_bound = staticmethod(bound_cost)
    prompt_parts = staticmethod(read_prompt)

    def open_writer(self, call: ChatCall, form: AnswerForm) -> MessageWriter:
        return MessageWriter(form)

    def open_stream_writer(self, call: ChatCall, form: AnswerForm) -> MessageStreamWriter:
        return MessageStreamWriter(form, call.payload.prompt_tokens_bound)
