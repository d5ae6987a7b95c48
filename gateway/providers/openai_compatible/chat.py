"""OpenAI's Chat Completions API, as OpenAI and its many look-alikes speak it.

Reference: https://platform.openai.com/docs/api-reference/chat
The caller's format is this dialect, so the caller's own bytes go upstream: fields of ours are
removed, the model is renamed, a limit we lowered is replaced, what the provider spells
differently is respelled (respelling.py), and a stream is asked to report its
usage. Facts in which look-alikes differ are in gateway.providers.catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import ProviderUnavailable, StreamBroken, UnsupportedParameter
from gateway.core.events import (
    FINISH_REASONS,
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    UsageReported,
)
from gateway.core.grant import Grant
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.money import Usage
from gateway.core.units import detailed_units
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.openai_compatible import respelling, vllm
from gateway.providers.openai_compatible.request import BYTES_PER_TOKEN, write_body, write_headers
from gateway.providers.secrets import secrets_of
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord

VLLM_ONLY = vllm.GUIDED | {"chat_template", "chat_template_kwargs", "mm_processor_kwargs"}
NOT_TAKEN = {
    kind.name: kind.drops if kind.name == "vllm" else kind.drops | VLLM_ONLY
    for kind in BY_NAME.values()
}
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
USAGE_WANTED = b'{"include_usage":true}'
# What some send in every piece, and what it means.
NOTHING: tuple[tuple[str, object], ...] = (("content", ""), ("reasoning", ""), ("tool_calls", []))
EXTRAS = frozenset({"system_fingerprint", "service_tier"})
# No call has more; at the highest price that can be set the cost still fits into 64 bits.
MAX_TOKENS_COUNTED = 2**31 - 1
MAX_CHOICES = 128
# What reading something else than what the dialect says can come to; too deep JSON included.
MALFORMED = (
    *(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
    *(LookupError, TypeError, ValueError, AttributeError),
)
_encode = msgspec.json.encode
_decode = msgspec.json.decode


class OpenAIChat:
    """Chat completions for every provider of the `openai` dialect."""

    supported = SUPPORTED

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        kind, payload = BY_NAME[target.kind], call.payload
        if payload.n > 1 and not kind.takes_many_choices:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        dropped = {name for name in kind.drops.intersection(payload.fields) if payload.has(name)}
        if kind.name == "vllm":
            return dropped | vllm.dropped(payload.fields, target.structured_dialect)
        for name in VLLM_ONLY.intersection(payload.fields):
            if payload.has(name):
                raise UnsupportedParameter(
                    f"{call.facts.model} does not support {name}.", param=name
                )
        return dropped

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        return UpstreamRequest(
            url=f"{target.base_url}/chat/completions",
            headers=write_headers(grant, target, stream=call.facts.stream),
            body=write_body(call.payload.fields, _say_ourselves(call, grant, target)),
            prompt_tokens=len(call.payload.fields["messages"]) // BYTES_PER_TOKEN + 1,
            omits_finish_reason=BY_NAME[target.kind].omits_finish_reason,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        try:
            answer = _decode(body)
            choices = tuple(_read_choice(choice) for choice in answer["choices"])
        except MALFORMED:
            raise ProviderUnavailable(
                "The provider sent an invalid response.", quote=repr(body[:2000])
            ) from None
        if not choices:
            raise ProviderUnavailable("The provider's response has no choices.")
        return ChatAnswer(choices, read_usage(answer.get("usage")), _read_extras(answer))

    def open_decoder(self) -> Decoder:
        return OpenAIDecoder()

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


class ChunkChoice(msgspec.Struct):
    """What a chunk says of one choice."""

    index: int | None = 0
    delta: JsonObject | None = None
    finish_reason: JsonValue = None
    logprobs: JsonValue = None


class Chunk(msgspec.Struct):
    """What we read of a chunk; the rest is skipped undecoded."""

    choices: list[ChunkChoice] | None = None
    usage: JsonValue = None
    error: JsonValue = None
    system_fingerprint: JsonValue = None
    service_tier: JsonValue = None


_decode_chunk = msgspec.json.Decoder(Chunk).decode


class OpenAIDecoder:
    """Chunks to events."""

    __slots__ = ("framing",)

    def __init__(self) -> None:
        self.framing = SseDecoder()

    def read(self, data: bytes) -> list[StreamEvent]:
        if data == b"[DONE]":
            return [StreamEnd()]
        try:
            chunk = _decode_chunk(data)
            if chunk.error:
                raise _reported_error(chunk.error)
            return _read_chunk(chunk)
        except MALFORMED:
            if not data.strip():
                return []
            raise StreamBroken(
                "The provider sent an invalid stream.", quote=repr(data[:2000])
            ) from None


def _say_ourselves(call: ChatCall, grant: Grant, target: TargetRecord) -> dict[str, bytes | None]:
    """Return the fields whose value is ours; None leaves one out."""
    fields, kind = call.payload.fields, BY_NAME[target.kind]
    ours: dict[str, bytes | None] = {"model": _encode(target.native_model)}
    # Of what the provider does not take only nulls are left, and it may not take those either.
    if not NOT_TAKEN[kind.name].isdisjoint(fields):
        ours |= dict.fromkeys(NOT_TAKEN[kind.name] & fields.keys())
    for name in grant.dropped_params:
        ours[name] = None
    if kind.name == "vllm":
        ours |= vllm.respell(fields, target.structured_dialect)
    for name, raw in target.default_params:
        if not call.payload.has(name):
            ours[name] = raw
    # stream_options are good for a stream that has to be asked for its usage, and an error else.
    ours["stream_options"] = None
    if call.facts.stream:
        # A profile may stream what did not ask for it.
        ours["stream"] = b"true"
        if kind.wants_usage_option:
            ours["stream_options"] = _ask_for_usage(fields.get("stream_options"))
    limit_tokens = respelling.limit_to_send(call, kind, grant.cap_tokens)
    if limit_tokens is not None:
        ours |= respelling.place_limit(call, kind, limit_tokens)
    if kind.renames or not kind.takes_developer:
        ours |= respelling.respell(call, kind, ours)
    return ours


def _ask_for_usage(raw: bytes | None) -> bytes:
    """Return the caller's stream_options with include_usage on: we always account."""
    if raw is None or raw == USAGE_WANTED:
        return USAGE_WANTED
    options = _decode(raw)
    return _encode({**(options or {}), "include_usage": True})


def _read_chunk(chunk: Chunk) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    if chunk.usage is not None or chunk.system_fingerprint or chunk.service_tier:
        usage = read_usage(chunk.usage)
        marks = {name: getattr(chunk, name) for name in EXTRAS if getattr(chunk, name)}
        if usage is not None or marks:
            events.append(UsageReported(usage, marks))
    for choice in chunk.choices or ():
        # Nearly every chunk is text of the first choice, and nothing else.
        index = _read_index(choice.index) if choice.index else 0
        reason, logprobs, fields = choice.finish_reason, choice.logprobs, choice.delta or {}
        if len(fields) != 1 or not fields.get("content"):
            fields = _read_members(fields)
        if fields or (logprobs is not None and not reason):
            events.append(Delta(index, fields, logprobs))
            logprobs = None
        if reason:
            events.append(Finish(index, read_finish_reason(reason), logprobs, native(reason)))
    return events


def _read_index(index: object) -> int:
    """Return which choice is meant, the first where nothing is said. Raises ValueError."""
    if index is None:
        return 0
    if not isinstance(index, int) or not 0 <= index < MAX_CHOICES:
        raise ValueError("The choice index is out of range.")
    return index


def _read_members(delta: dict[str, object]) -> dict[str, object]:
    """Return what a delta or message adds: no role, no nulls, reasoning under one name."""
    fields = {name: value for name, value in delta.items() if value is not None and name != "role"}
    if len(fields) == 1 and fields.get("content"):
        return fields  # as most are
    if "reasoning_content" in fields:
        other = fields.pop("reasoning_content")
        fields.setdefault("reasoning", other)
    for name, nothing in NOTHING:
        if name in fields and fields[name] == nothing:
            del fields[name]
    return fields


def _read_choice(choice: JsonObject) -> Choice:
    raw, reason = choice["message"], choice.get("finish_reason")
    fields = _read_members(raw)
    message = {"role": "assistant", "content": raw.get("content")}
    if message["content"] is None and "tool_calls" not in fields:
        message["content"] = ""
    message.update(fields)
    return Choice(
        _read_index(choice.get("index")),
        message,
        read_finish_reason(reason),
        choice.get("logprobs"),
        native(reason),
    )


def _read_extras(raw: JsonObject) -> dict[str, object]:
    if EXTRAS.isdisjoint(raw):
        return {}
    return {name: raw[name] for name in EXTRAS if raw.get(name)}


def read_finish_reason(reason: object) -> str:
    """Return one of OpenAI's reasons; what we do not know is `stop`."""
    return reason if isinstance(reason, str) and reason in FINISH_REASONS else "stop"


def native(reason: object) -> str:
    """Return the provider's own word, empty when it is none."""
    return reason if isinstance(reason, str) else ""


def read_usage(raw: object) -> Usage | None:
    """Return the counts, or None when they are missing or make no sense."""
    if not isinstance(raw, dict):
        return None
    prompt = read_count(raw.get("prompt_tokens"))
    completion = read_count(raw.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    of_prompt = raw.get("prompt_tokens_details")
    of_completion = raw.get("completion_tokens_details")
    if not of_prompt and not of_completion:
        return Usage(prompt, completion)
    cached = _read_detail(of_prompt, "cached_tokens")
    reasoning = _read_detail(of_completion, "reasoning_tokens")
    others = {
        unit.name: count
        for unit in detailed_units()
        if (
            count := _read_detail(
                of_prompt if unit.part_of == "prompt" else of_completion, unit.usage_detail
            )
        )
    }
    return Usage(prompt, completion, min(cached, prompt), min(reasoning, completion), others)


def read_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS_COUNTED else None


def _read_detail(raw: object, name: str) -> int:
    """Return one of the details of a count; 0 where there is none that makes sense."""
    count = raw.get(name) if isinstance(raw, dict) else 0
    return (read_count(count) or 0) if count else 0


def _reported_error(error: object) -> Exception:
    """An error inside a stream: classified as if it were an answer of that status."""
    body = error if isinstance(error, Mapping) else {"message": str(error)}
    code = body.get("code")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return read_error(status, {}, _encode({"error": dict(body)}))
