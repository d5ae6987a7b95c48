"""Chat completions of Text Generation Inference (TGI), which it calls its Messages API.

References: https://huggingface.co/docs/text-generation-inference/messages_api and
https://huggingface.co/docs/text-generation-inference/basic_tutorials/using_guidance
It is OpenAI's format but for the form of an answer (grammar.py), for messages (messages.py), for
`stop`, which is a list, for calls of tools, whose arguments may be an object and which end with
`stop`, and for errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import (
    ContextLengthExceeded,
    ProviderOverloaded,
    UnsupportedParameter,
    UpstreamError,
)
from gateway.core.events import ChatAnswer, Choice, Delta, Finish, StreamEvent
from gateway.core.grant import Grant
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME, ProviderKind
from gateway.providers.openai_compatible import openai_only
from gateway.providers.openai_compatible.answers import OpenAIDecoder
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.tgi import grammar
from gateway.providers.tgi.messages import separate_calls
from gateway.providers.upstream_errors import read_error as read_any_error
from gateway.providers.upstream_errors import read_retry_after
from gateway.snapshot.types import TargetRecord

# huggingface/chat-ui#1149 quotes one, router/src/validation.rs of the server has both.
_CONTEXT = re.compile(r"`inputs` (tokens \+ `max_new_tokens`|must have less than)", re.I)
_OVERLOADED = re.compile(rb'"error_type"\s*:\s*"overloaded"')
_read_number = msgspec.json.Decoder(float | None).decode
_encode = msgspec.json.encode


class TgiChat(OpenAIChat):
    """Chat completions for providers of the `tgi` dialect."""

    # Forms of an answer have to be looked at, and so has top_p.
    supported = OpenAIChat.supported - {"response_format", "top_p"}

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        if call.payload.has("tools") and grammar.is_constrained(call.payload.fields):
            # Grammar and tools are mutually exclusive there.
            raise UnsupportedParameter(
                f"{call.facts.model} does not support tools together with a form of the response.",
                param="tools",
            )
        respelled, dropped = _respell(call, BY_NAME[target.kind])
        # Its form is the server's already.
        fields = {n: raw for n, raw in respelled.payload.fields.items() if n != grammar.FORMAT}
        return super().check(respelled.with_payload(fields=fields), target) | dropped

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        return super().build_request(_respell(call, BY_NAME[target.kind])[0], grant, target)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        answer = super().read_answer(body, request)
        return replace(answer, choices=tuple(map(_read_choice, answer.choices)))

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return TgiDecoder()

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        return read_error(status, headers, body)


class TgiDecoder(OpenAIDecoder):
    """Chunks to events. It remembers whether a tool was called."""

    __slots__ = ("_has_called",)

    def __init__(self) -> None:
        super().__init__()
        self._has_called = False

    def read(self, data: bytes) -> list[StreamEvent]:
        events = super().read(data)
        for place, event in enumerate(events):
            if isinstance(event, Delta):
                if "tool_calls" in event.fields:
                    self._has_called = True
                    events[place] = replace(event, fields=_read_calls(dict(event.fields)))
            elif isinstance(event, Finish) and self._has_called and event.reason == "stop":
                events[place] = replace(event, reason="tool_calls")
        return events


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Classify a non-2xx answer. Never raises."""
    error = read_any_error(status, headers, body)
    named: UpstreamError | None = None
    if status in (400, 413, 422) and _CONTEXT.search(error.quote):
        named = ContextLengthExceeded()
    elif status == 429 and _OVERLOADED.search(body):
        named = ProviderOverloaded(retry_after_s=read_retry_after(headers) or 1)
    if named is None:
        return error
    named.detail, named.quote = error.detail, error.quote
    return named


def _respell(call: ChatCall, kind: ProviderKind) -> tuple[ChatCall, set[str]]:
    """Return the call in the server's words, and the names of what it has none for."""
    fields = dict(call.payload.fields)
    dropped = grammar.respell(fields)
    # It only takes what is less than 1, which is where it does anything.
    if _read_number(fields.get("top_p", b"null")) == 1:
        del fields["top_p"]
    if (stop := fields.get("stop", b"null")).startswith(b'"'):
        fields["stop"] = b"[%b]" % stop
    if (messages := openai_only.respell(fields["messages"], kind)) is not None:
        fields["messages"] = messages
    if (messages := separate_calls(fields["messages"])) is not None:
        fields["messages"] = messages
    is_same = fields == call.payload.fields
    return (call if is_same else call.with_payload(fields=fields)), dropped


def _read_choice(choice: Choice) -> Choice:
    if "tool_calls" not in choice.message:
        return choice
    reason = "tool_calls" if choice.finish_reason == "stop" else choice.finish_reason
    return replace(choice, message=_read_calls(dict(choice.message)), finish_reason=reason)


def _read_calls(fields: dict[str, object]) -> dict[str, object]:
    """Return the fields with calls as OpenAI has them: a list, and arguments that are text."""
    calls = fields["tool_calls"]
    listed = calls if isinstance(calls, list) else [calls]
    for call in listed:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), dict):
            function["arguments"] = _encode(function["arguments"]).decode()
    fields["tool_calls"] = listed
    return fields
