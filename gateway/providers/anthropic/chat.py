"""Chat completions over Anthropic's Messages API, version 2023-06-01.

Reference: https://platform.claude.com/docs/en/api/messages
It differs from a chat completion in five ways: instructions are a field beside the messages
(conversation.py), tools are called with objects (tools.py), a limit is required, what else may be
asked depends on the generation of the model (options.py, generations.py), and tokens are counted
in four numbers (usage.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.chat_messages import read_messages
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers.anthropic import answers
from gateway.providers.anthropic.conversation import Conversation, translate
from gateway.providers.anthropic.errors import read_error
from gateway.providers.anthropic.generations import generation_of
from gateway.providers.anthropic.options import Options, Situation
from gateway.providers.anthropic.tools import Tools, translate_tools
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.secrets import secrets_of
from gateway.snapshot.types import TargetRecord

BYTES_PER_TOKEN = 4
# What a call without a limit is taken to have while it is only checked.
MANY_TOKENS = 2**20
# The fields that are translated. `n` is, as far as it is 1.
TRANSLATED = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens"),
        *("max_completion_tokens", "temperature", "top_p", "top_k", "stop", "user", "tools"),
        *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
    }
)
# The API's own, which go through as they are.
NATIVE = frozenset({"cache_control", "thinking"})
# Of the gateway's own or of no consequence for a provider.
OURS = frozenset({"inferada", "plugins", "hi_tool_events", "models"})
OURS_PREFIX = "tensorzero::"
# To leave these out would change what is answered, not only how.
REFUSED = frozenset(
    {
        *("functions", "function_call", "chat_template", "chat_template_kwargs"),
        *("mm_processor_kwargs", "guided_choice", "guided_grammar", "guided_json", "guided_regex"),
        *("guided_decoding_backend", "guided_whitespace_pattern", "structural_tag"),
        "structured_outputs",
    }
)
_encode = msgspec.json.encode


class Translation(msgspec.Struct):
    """A call in the API's words, but for its limit. dropped: names of what it has none for."""

    conversation: Conversation
    tools: Tools
    options: Options
    native: dict[str, object]
    dropped: set[str]


class AnthropicChat:
    """Chat completions for every provider of the `anthropic` dialect."""

    # Nothing is taken unseen: the API is strict, and what it takes depends on the model.
    supported: frozenset[str] = frozenset()

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        payload = call.payload
        if payload.n > 1:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        for name in REFUSED.intersection(payload.fields):
            if payload.has(name):
                raise UnsupportedParameter(
                    f"{call.facts.model} does not support {name}.", param=name
                )
        max_tokens = payload.max_tokens or MANY_TOKENS
        return _translate(_fields_of(call, target), target, max_tokens).dropped

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        stream, kind = call.facts.stream, BY_NAME[target.kind]
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if stream else "application/json",
            "accept-encoding": "identity",
            "user-agent": "tollhouse",
            "x-request-id": grant.identity.call_id,
            **kind.headers_with(target.secret),
        }
        fields = _fields_of(call, target)
        for name in NATIVE.intersection(grant.dropped_params):
            fields.pop(name, None)
        max_tokens = grant.cap_tokens or call.payload.max_tokens or grant.limit_tokens
        said = _translate(fields, target, max_tokens)
        body: dict[str, object] = {
            "model": target.native_model,
            "max_tokens": max_tokens,
            "messages": said.conversation.turns,
        }
        if said.conversation.system:
            body["system"] = said.conversation.system
        if stream:
            body["stream"] = True
        body |= said.tools.fields | said.options.fields | said.native
        return UpstreamRequest(
            url=f"{target.base_url}{kind.chat_path}",
            headers=headers,
            body=_encode(body),
            prompt_tokens=len(call.payload.fields["messages"]) // BYTES_PER_TOKEN + 1,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return answers.read_answer(body)

    read_error = staticmethod(read_error)

    def open_decoder(self) -> Decoder:
        return answers.MessagesDecoder()

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        version = request.headers.get("anthropic-version", "").encode()
        return tuple(secret for secret in secrets_of(request) if secret != version)


def _fields_of(call: ChatCall, target: TargetRecord) -> dict[str, bytes]:
    """Return the caller's fields that have a value, and the model's where the caller has none."""
    fields = {name: raw for name, raw in call.payload.fields.items() if raw != b"null"}
    for name, raw in target.default_params:
        fields.setdefault(name, raw)
    return fields


def _translate(fields: Mapping[str, bytes], target: TargetRecord, max_tokens: int) -> Translation:
    """Raises RequestError, InvalidFile, AudioNotSupported or UnsupportedParameter for what the API
    has no words for."""
    generation = generation_of(target.native_model)
    conversation = translate(read_messages(fields["messages"]))
    tools = translate_tools(fields, takes_strict=generation.takes_format)
    situation = Situation(
        max_tokens=max_tokens,
        is_tool_forced=tools.is_forced,
        is_in_tool_loop=conversation.is_in_tool_loop,
        is_begun=conversation.is_begun,
    )
    native: dict[str, object] = {
        name: msgspec.Raw(fields[name]) for name in NATIVE.intersection(fields)
    }
    options = Options(fields, generation, situation)
    dropped = {
        name
        for name in fields.keys() - TRANSLATED - NATIVE - OURS
        if not name.startswith(OURS_PREFIX)
    }
    if tools.drops_strict:
        dropped.add("strict")
    return Translation(conversation, tools, options, native, dropped | options.dropped)
