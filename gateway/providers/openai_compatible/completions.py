"""OpenAI's older Completions API, as OpenAI's look-alikes speak it.

Reference: https://platform.openai.com/docs/api-reference/completions
Where a provider has no such API, or the model is for chat, the prompt goes to its chat. Which
providers have it, and for which models: gateway.providers.catalogue. Some answer with the messages
of a chat all the same (https://docs.mistral.ai/api/#tag/fim), so either form is read.
"""

from __future__ import annotations

import msgspec

from gateway.core.completions import CompletionsCall
from gateway.core.errors import ProviderUnavailable, UnsupportedParameter
from gateway.core.events import Answer, ChatAnswer
from gateway.core.grant import Grant
from gateway.core.json_types import JsonObject, JsonValue
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.completions_by_chat import CompletionsByChat
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import (
    MALFORMED,
    Chunk,
    ChunkChoice,
    OpenAIDecoder,
    read_choice,
    read_extras,
    read_usage,
)
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.openai_compatible.request import (
    BYTES_PER_TOKEN,
    ask_for_usage,
    change_fields,
    find_url,
    write_headers,
)
from gateway.providers.request_body import write_body
from gateway.providers.secrets import secrets_of
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord


class TextRequest(UpstreamRequest, kw_only=True):
    """A request to the API for text; all others of this adapter are a chat's."""


class OpenAICompletions:
    """Text completions for every provider of the `openai` dialect."""

    supported: frozenset[str] = frozenset()

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat = chat
        self._by_chat = CompletionsByChat(chat)

    def check(self, call: CompletionsCall, target: TargetRecord) -> set[str]:
        if not completes(target):
            return self._by_chat.check(call, target)
        kind, payload = BY_NAME[target.kind], call.payload
        if payload.n > payload.prompts and not kind.takes_many_choices:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        return {name for name in kind.drops.intersection(payload.fields) if payload.has(name)}

    def build_request(
        self, call: CompletionsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        if not completes(target):
            return self._by_chat.build_request(call, grant, target)
        kind, fields = BY_NAME[target.kind], call.payload.fields
        changed = change_fields(call.payload, grant, target)
        changed["stream_options"] = None
        if call.facts.stream and kind.wants_usage_option:
            changed["stream_options"] = ask_for_usage(fields.get("stream_options"))
        if grant.cap_tokens is not None:
            changed["max_tokens"] = b"%d" % grant.cap_tokens
        return TextRequest(
            url=find_url(target, "completions"),
            headers=write_headers(grant, target, stream=call.facts.stream),
            body=write_body(fields, changed),
            prompt_tokens=len(fields["prompt"]) // BYTES_PER_TOKEN + 1,
            omits_finish_reason=kind.omits_finish_reason,
            answers=call.payload.n,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> Answer:
        if not isinstance(request, TextRequest):
            return self._chat.read_answer(body, request)
        try:
            answer: JsonObject = msgspec.json.decode(body)
            choices = tuple(read_choice(_with_message(choice)) for choice in answer["choices"])
        except MALFORMED:
            raise invalid_answer(body) from None
        if len(choices) != request.answers:
            raise ProviderUnavailable("The provider sent another number of completions.")
        return ChatAnswer(choices, read_usage(answer.get("usage")), read_extras(answer))

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        if not isinstance(request, TextRequest):
            return self._chat.open_decoder(request)
        return OpenAIDecoder(read_text_chunk)

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


class TextChoice(ChunkChoice):
    """What a chunk says of one choice."""

    text: JsonValue = None


class TextChunk(msgspec.Struct):
    """What we read of a chunk; the rest is skipped undecoded."""

    choices: list[TextChoice] | None = None
    usage: JsonValue = None
    error: JsonValue = None
    system_fingerprint: JsonValue = None


_decode_chunk = msgspec.json.Decoder(TextChunk).decode


def read_text_chunk(data: bytes) -> Chunk:
    """Return a chunk of text as a chunk of a chat."""
    chunk = _decode_chunk(data)
    choices = [
        ChunkChoice(
            choice.index,
            choice.delta if choice.text is None else {"content": choice.text},
            choice.finish_reason,
            choice.logprobs,
        )
        for choice in chunk.choices or ()
    ]
    return Chunk(choices, chunk.usage, chunk.error, chunk.system_fingerprint)


def _with_message(choice: JsonObject) -> JsonObject:
    """Return a choice as a chat's, if it is none yet."""
    if "text" not in choice:
        return choice
    text, reasoning = choice["text"], choice.get("reasoning")
    if not isinstance(text, str):
        raise ValueError("The text is no string.")
    return {**choice, "message": {"content": text, "reasoning": reasoning}}


def completes(target: TargetRecord) -> bool:
    """True where the provider is asked for text completions, not for a chat."""
    kind = BY_NAME[target.kind]
    if target.operation:
        return "completions" in kind.paths and target.operation == "completions"
    return kind.completes_any_model
