"""OpenAI's Chat Completions API, as OpenAI and its many look-alikes speak it.

Reference: https://platform.openai.com/docs/api-reference/chat
The caller's format is this dialect, so the caller's own bytes go upstream: fields of ours are
removed, the model is renamed, a limit we lowered is replaced, what the provider spells
differently is respelled (respelling.py), and a stream is asked to report its
usage. Facts in which look-alikes differ are in gateway.providers.catalogue.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from gateway.core.call import NativeBody
from gateway.core.chat import ChatCall
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.catalogue.kind import ANY_FORMAT
from gateway.providers.native import native_body
from gateway.providers.openai_compatible import (
    answers,
    families,
    guided,
    media,
    respelling,
    responses_answers,
    thinking,
    vllm,
)
from gateway.providers.openai_compatible.request import (
    BYTES_PER_TOKEN,
    ask_for_usage,
    write_headers,
    write_url,
)
from gateway.providers.openai_compatible.responses_request import (
    SAME_NAMES,
    has_others_reasoning,
    write_native,
)
from gateway.providers.request_body import write_body
from gateway.providers.secrets import secrets_of
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord

# Fields that any kind may have to be told in other words.
UNUSUAL = frozenset({"tool_choice", "reasoning_effort"})
# Every look-alike takes these.
SUPPORTED = frozenset(
    {
        "frequency_penalty",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "presence_penalty",
        "response_format",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
    }
)
_encode = msgspec.json.encode


class OpenAIChat:
    """Chat completions for every provider of the `openai` dialect."""

    supported = SUPPORTED

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        kind, payload = BY_NAME[target.kind], call.payload
        if payload.n > 1 and not kind.takes_many_choices:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        media.check_media(call, kind)
        dropped = respelling.lost(call, target)
        if (native := native_body(call, target)) is not None:
            others = {"encrypted_content"} if has_others_reasoning(native) else set()
            return (dropped & SAME_NAMES) | others
        if kind.name == "vllm":
            return dropped | vllm.dropped(payload.fields, target.structured_dialect)
        return (dropped - guided.VLLM_ONLY) | guided.lost(call, kind)

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        kind = BY_NAME[target.kind]
        if call.payload.native is not None and native_body(call, target) is not None:
            return _build_native(call, call.payload.native, grant, target)
        return UpstreamRequest(
            url=write_url(target, "chat/completions"),
            headers=write_headers(grant, target, stream=call.facts.stream),
            body=write_body(call.payload.fields, _say_ourselves(call, grant, target)),
            prompt_tokens=len(call.payload.fields["messages"]) // BYTES_PER_TOKEN + 1,
            omits_finish_reason=kind.omits_finish_reason,
            repeats_answer=kind.repeats_answer,
            thinks_in_content=kind.thinks_in_content,
            wraps_choice=not guided.VLLM_ONLY.isdisjoint(call.payload.fields)
            and guided.wraps_choice(call.payload.fields, kind),
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        if request.is_native:
            return responses_answers.read_answer(body)
        answer = answers.read_answer(body)
        if request.thinks_in_content:
            answer = thinking.split_answer(answer)
        return guided.unwrap_choice(answer) if request.wraps_choice else answer

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        if request.is_native:
            return responses_answers.ResponsesDecoder()
        return thinking.ThinkingDecoder() if request.thinks_in_content else answers.OpenAIDecoder()

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


def _build_native(
    call: ChatCall, native: NativeBody, grant: Grant, target: TargetRecord
) -> UpstreamRequest:
    """Return a request in the Responses format, as it came in."""
    kind = BY_NAME[target.kind]
    family = families.family_of(target.kind, target.native_model)
    return UpstreamRequest(
        url=write_url(target, kind.responses_path),
        headers=write_headers(grant, target, stream=call.facts.stream),
        body=write_native(
            native,
            grant.dropped_params,
            model=target.native_model,
            cap_tokens=grant.cap_tokens,
            stream=call.facts.stream,
            reasons=bool(family.efforts),
        ),
        prompt_tokens=len(call.payload.fields["messages"]) // BYTES_PER_TOKEN + 1,
        is_native=True,
    )


@lru_cache
def is_quirky(name: str) -> bool:
    """Return whether calls to this kind of provider have to be looked into."""
    kind = BY_NAME[name]
    return bool(
        kind.renames
        or not kind.takes_developer
        or not kind.takes_names
        or not families.is_plain(kind)
        or kind.response_formats != ANY_FORMAT
        or kind.thinking_switch
    )


def _say_ourselves(call: ChatCall, grant: Grant, target: TargetRecord) -> dict[str, bytes | None]:
    """Return the fields whose value is ours; None leaves one out."""
    fields, kind = call.payload.fields, BY_NAME[target.kind]
    ours: dict[str, bytes | None] = {"model": _encode(target.native_model)}
    for name in grant.dropped_params:
        ours[name] = None
    if kind.name == "vllm":
        ours |= vllm.respell(fields, target.structured_dialect)
    elif not guided.VLLM_ONLY.isdisjoint(fields):
        ours |= guided.respell(fields, kind)
    for name, raw in target.default_params:
        if not call.payload.has(name):
            ours[name] = raw
    # stream_options are good for a stream that has to be asked for its usage, and an error else.
    ours["stream_options"] = None
    if call.facts.stream:
        # A profile may stream what did not ask for it.
        ours["stream"] = b"true"
        if kind.wants_usage_option:
            ours["stream_options"] = ask_for_usage(fields.get("stream_options"))
    limit_tokens = respelling.limit_to_send(call, kind, grant.cap_tokens)
    if limit_tokens is not None:
        ours |= respelling.place_limit(call, kind, limit_tokens)
    if is_quirky(kind.name) or not UNUSUAL.isdisjoint(fields) or call.payload.message_fields:
        ours |= respelling.respell(call, target, ours)
    return ours if kind.sounds is None else media.place_sounds(call, ours)
