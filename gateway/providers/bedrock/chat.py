"""Chat completions over Bedrock's Converse and ConverseStream.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from gateway.core import reasoning
from gateway.core.chat import ChatCall
from gateway.core.chat_messages import read_messages
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers import guided_decoding
from gateway.providers.anthropic.chat import MANY_TOKENS
from gateway.providers.anthropic.thinking import Situation
from gateway.providers.aws.errors import read_error
from gateway.providers.aws.request import EVENT_STREAM, secrets_of_request, write_request
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.bedrock import answers
from gateway.providers.bedrock.conversation import Conversation, translate
from gateway.providers.bedrock.options import Options, takes_strict_tools, translate_options
from gateway.providers.bedrock.tools import Tools, translate_tools
from gateway.providers.translation import (
    bound_prompt,
    fields_of,
    left_out,
    refuse_fields,
)
from gateway.snapshot.types import TargetRecord

SERVICE = "bedrock"
# The fields that are translated. `n` is, as far as it is 1.
TRANSLATED = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens"),
        *("max_completion_tokens", "temperature", "top_p", "top_k", "stop", "tools"),
        *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
        *("service_tier", "user", "reasoning"),
        *guided_decoding.GUIDED,
    }
)
REFUSED = guided_decoding.REFUSED
# Claude's own, which goes through as it is.
NATIVE = frozenset({"thinking"})
# Unknown to OpenAI: where a model drops what is unknown, these stay here, too.
GOES_THROUGH = NATIVE | {"reasoning"}
# The API's own, which only the operators of a model may set: its default parameters.
OPERATORS = frozenset({"guardrailConfig", "performanceConfig", "requestMetadata"})
_encode = msgspec.json.encode


class Translation(msgspec.Struct):
    """A call in the API's words."""

    conversation: Conversation
    tools: Tools
    options: Options
    dropped: set[str]


class BedrockChat:
    """Chat completions for every provider of the `bedrock` dialect."""

    # Nothing is taken unseen: the API is strict, and what it takes depends on the model.
    supported: frozenset[str] = frozenset()

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        payload = call.payload
        if payload.n > 1:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        refuse_fields(call, REFUSED)
        call, lost = guided_decoding.respell(call)
        max_tokens = payload.max_tokens or MANY_TOKENS
        return _translate(_fields_of(call, target), target, max_tokens).dropped | lost

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        stream = call.facts.stream
        call, _ = guided_decoding.respell(call)
        fields = _fields_of(call, target)
        for name in GOES_THROUGH.intersection(grant.dropped_params):
            fields.pop(name, None)
        max_tokens = grant.cap_tokens or call.payload.max_tokens or grant.limit_tokens
        said = _translate(fields, target, max_tokens)
        body: dict[str, object] = {"messages": said.conversation.turns.written}
        if said.conversation.system:
            body["system"] = said.conversation.system
        body |= said.tools.fields | said.options.write()
        body |= {name: msgspec.Raw(raw) for name, raw in target.default_params if name in OPERATORS}
        model = quote(target.native_model, safe="")
        request = write_request(
            f"{target.base_url}/model/{model}/{'converse-stream' if stream else 'converse'}",
            _encode(body),
            grant=grant,
            target=target,
            service=SERVICE,
            accept=EVENT_STREAM if stream else "application/json",
        )
        request.prompt_tokens = bound_prompt(call)
        request.wraps_choice = guided_decoding.wraps_choice(call)
        return request

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return guided_decoding.unwrap(answers.read_answer(body), request)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return answers.ConverseDecoder()

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of_request)


def _fields_of(call: ChatCall, target: TargetRecord) -> dict[str, bytes]:
    """Return the fields as fields_of, but those of the operators only where a caller says them too,
    which changes nothing and is told."""
    fields = fields_of(call, target)
    for name in OPERATORS.difference(call.payload.fields):
        fields.pop(name, None)
    return fields


def _translate(fields: Mapping[str, bytes], target: TargetRecord, max_tokens: int) -> Translation:
    """Raises RequestError, InvalidFile or UnsupportedParameter for what the API has no words
    for."""
    model = target.native_model
    conversation = translate(read_messages(fields["messages"]))
    turns = conversation.turns
    tools = translate_tools(fields, conversation.called, takes_strict=takes_strict_tools(model))
    situation = Situation(
        max_tokens=max_tokens,
        is_tool_forced=tools.is_forced,
        is_in_tool_loop=turns.is_in_tool_loop,
        is_begun=turns.is_begun,
        has_thoughts=turns.has_thoughts,
    )
    options = translate_options(fields, model, situation)
    if not options.thinks:
        turns.forget_thoughts()
    dropped = left_out(fields, TRANSLATED | NATIVE) | tools.dropped | options.dropped
    if turns.drops_thoughts:
        dropped.add(reasoning.FIELD)
    return Translation(conversation, tools, options, dropped)
