"""Chat completions over Anthropic's Messages API, version 2023-06-01.

Reference: https://platform.claude.com/docs/en/api/messages
It differs from a chat completion in five ways: instructions are a field beside the messages
(conversation.py), tools are called with objects (tools.py), a limit is required, what else may be
asked depends on the generation of the model (options.py, generations.py), and tokens are counted
in four numbers (usage.py).

Clouds that serve the same API differ in the address, in how they let calls in and in what stands
around the body (Envelope). The adapter of such a cloud derives AnthropicChat: it sets `envelope`,
overrides `address`, and where it needs to `headers` or `build_request`; `write_request` is the
body alone. Where it frames streams in its own way it opens a MessagesDecoder with that framing,
which has to hand on each event's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.chat import ChatCall
from gateway.core.chat_messages import read_messages
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers import guided_decoding
from gateway.providers.anthropic import answers
from gateway.providers.anthropic.conversation import Conversation, translate
from gateway.providers.anthropic.envelope import Envelope
from gateway.providers.anthropic.errors import read_error
from gateway.providers.anthropic.generations import generation_of
from gateway.providers.anthropic.native import write_native
from gateway.providers.anthropic.options import Options
from gateway.providers.anthropic.thinking import Situation, fit_thinking
from gateway.providers.anthropic.tools import Tools, translate_tools
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.guided_decoding import GUIDED
from gateway.providers.native import native_body
from gateway.providers.secrets import secrets_of
from gateway.providers.translation import (
    bound_prompt,
    fields_of,
    left_out,
    refuse_fields,
)
from gateway.snapshot.types import TargetRecord

# What a call without a limit is taken to have while it is only checked.
MANY_TOKENS = 2**20
# The fields that are translated. `n` is, as far as it is 1.
TRANSLATED = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens"),
        *("max_completion_tokens", "temperature", "top_p", "top_k", "stop", "user", "tools"),
        *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
        "reasoning",
        *GUIDED,
    }
)
REFUSED = guided_decoding.REFUSED
# The API's own, which go through as they are.
NATIVE = frozenset({"cache_control", "thinking"})
# Unknown to OpenAI: where a model drops what is unknown, these stay here, too.
GOES_THROUGH = NATIVE | {"reasoning"}
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
    envelope = Envelope()

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        payload = call.payload
        if payload.n > 1:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        refuse_fields(call, REFUSED.intersection(payload.fields))
        call, lost = guided_decoding.respell(call)
        if native_body(call, target) is not None:
            return set()
        max_tokens = payload.max_tokens or MANY_TOKENS
        return _translate(fields_of(call, target), target, max_tokens).dropped | lost

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        return UpstreamRequest(
            url=self.address(call, target),
            headers=self.headers(call, grant, target),
            body=write_request(call, grant, target, self.envelope),
            prompt_tokens=bound_prompt(call),
            wraps_choice=guided_decoding.wraps_choice(call),
        )

    def address(self, call: ChatCall, target: TargetRecord) -> str:
        return f"{target.base_url}{BY_NAME[target.kind].chat_path}"

    def headers(self, call: ChatCall, grant: Grant, target: TargetRecord) -> dict[str, str]:
        """Return the headers, the credential among them."""
        native = native_body(call, target) if self.envelope.takes_betas_in_header else None
        return {
            **({} if native is None else native.headers),
            "content-type": "application/json",
            "accept": "text/event-stream" if call.facts.stream else "application/json",
            "accept-encoding": "identity",
            "user-agent": "tollhouse",
            "x-request-id": grant.identity.call_id,
            **BY_NAME[target.kind].headers_with(target.secret),
        }

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return guided_decoding.unwrap(answers.read_answer(body), request)

    read_error = staticmethod(read_error)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return answers.MessagesDecoder()

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        version = request.headers.get("anthropic-version", "").encode()
        return tuple(secret for secret in secrets_of(request) if secret != version)


def write_request(call: ChatCall, grant: Grant, target: TargetRecord, envelope: Envelope) -> bytes:
    """Return the body of a call that passed the check: the caller's own where it can go."""
    call, _ = guided_decoding.respell(call)
    native = native_body(call, target)
    max_tokens = grant.cap_tokens or call.payload.max_tokens or grant.limit_tokens
    around = envelope.write(target.native_model, native, stream=call.facts.stream)
    if native is not None:
        return write_native(native, grant.dropped_params, max_tokens=max_tokens, around=around)
    fields = fields_of(call, target)
    for name in GOES_THROUGH.intersection(grant.dropped_params):
        fields.pop(name, None)
    said = _translate(fields, target, max_tokens)
    body: dict[str, object] = {
        name: msgspec.Raw(raw) for name, raw in around.items() if raw is not None
    }
    body |= {"max_tokens": max_tokens, "messages": said.conversation.turns.written}
    if said.conversation.system:
        body["system"] = said.conversation.system
    body |= said.tools.fields | said.options.fields | said.native
    return _encode(body)


def _fit(fields: Mapping[str, bytes], max_tokens: int) -> dict[str, bytes]:
    """Return the fields with a budget that the limit has room for, if any. Raises RequestError."""
    fitted = dict(fields)
    raw = fitted.pop("thinking", None)
    kept = None if raw is None else fit_thinking(raw, max_tokens)
    return fitted if kept is None else fitted | {"thinking": kept}


def _translate(fields: Mapping[str, bytes], target: TargetRecord, max_tokens: int) -> Translation:
    """Raises RequestError, InvalidFile, AudioNotSupported or UnsupportedParameter for what the API
    has no words for."""
    generation = generation_of(target.native_model)
    given, fields = fields, _fit(fields, max_tokens)
    conversation = translate(read_messages(fields["messages"]))
    turns = conversation.turns
    tools = translate_tools(fields, takes_strict=generation.takes_format)
    situation = Situation(
        max_tokens=max_tokens,
        is_tool_forced=tools.is_forced,
        is_in_tool_loop=turns.is_in_tool_loop,
        is_begun=turns.is_begun,
        has_thoughts=turns.has_thoughts,
    )
    options = Options(fields, generation, situation)
    if not options.thinks:
        turns.forget_thoughts()
    native: dict[str, object] = {
        name: msgspec.Raw(fields[name]) for name in NATIVE.intersection(fields)
    }
    dropped = left_out(fields, TRANSLATED | NATIVE) | (given.keys() - fields.keys())
    if tools.drops_strict:
        dropped.add("strict")
    if turns.drops_thoughts:
        dropped.add(reasoning.FIELD)
    return Translation(conversation, tools, options, native, dropped | options.dropped)
