"""POST /completions: OpenAI's older format for text, in and out.

Models for chat answer it, too: the prompt is one message of the user's (gateway.core.completions).
"""

from __future__ import annotations

from typing import ClassVar

from gateway.core.call import Call
from gateway.core.chat import ChatRequest
from gateway.core.completions import CompletionsCall, CompletionsRequest
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.prompt_parts import read_prompt
from gateway.endpoints.completions.cost_bound import bound_cost, check_context
from gateway.endpoints.completions.describe import describe
from gateway.endpoints.completions.read import read_call
from gateway.endpoints.completions.write import TextChunkWriter, TextWriter
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI

AnyPayload = CompletionsRequest | ChatRequest


class Completions:
    """An Endpoint (gateway.endpoints.base)."""

    name = "completions"
    operation = "completions"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("completions",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return describe(self._rules)

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> CompletionsCall:
        return read_call(body, head, profile, self._rules)

    check_context = staticmethod(check_context)
    cost_bound = staticmethod(bound_cost)

    def prompt_parts(self, call: Call[AnyPayload]) -> PromptParts:
        payload = call.payload
        if isinstance(payload, ChatRequest):
            return read_prompt(Call(call.facts, payload))
        return PromptParts(messages=0, texts=payload.texts, tokens=sum(payload.token_counts))

    def open_writer(self, call: Call[AnyPayload], form: AnswerForm) -> TextWriter:
        return TextWriter(form)

    def open_stream_writer(self, call: Call[AnyPayload], form: AnswerForm) -> TextChunkWriter:
        return TextChunkWriter(form, include_usage=call.payload.include_usage)
