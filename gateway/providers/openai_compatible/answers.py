"""Whole answers and streams of OpenAI's Chat Completions API to our events."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.errors import ProviderUnavailable, StreamBroken
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
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.money import Usage
from gateway.core.units import detailed_units
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import invalid_answer, invalid_stream
from gateway.providers.openai_compatible import searches
from gateway.providers.token_counts import read_count
from gateway.providers.upstream_errors import read_error

GAVE_UP = "The provider could not complete the response."
# What some send in every piece, and what it means.
NOTHING: tuple[tuple[str, object], ...] = (
    ("content", ""),
    ("reasoning", ""),
    (reasoning.FIELD, []),
    ("tool_calls", []),
)
# Reasons of look-alikes that are none of OpenAI's, and mean no stop. Mistral; Z.ai; Z.ai.
OTHER_REASONS: Mapping[str, str] = {
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "sensitive": "content_filter",
}
# The provider could not go on. Z.ai; DeepSeek; Mistral and OpenRouter; SGLang.
FAILURES = frozenset({"network_error", "insufficient_system_resource", "error", "abort"})
EXTRAS = frozenset({"system_fingerprint", "service_tier"})
MAX_CHOICES = 128
# Names of the cached tokens beside the counts.
CACHED = frozenset({"prompt_cache_hit_tokens", "cached_tokens"})
# role and content.
PLAIN_MEMBERS = 2
# What reading something else than what the dialect says can come to; too deep JSON included.
MALFORMED = (
    *(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
    *(LookupError, TypeError, ValueError, AttributeError),
)
_encode = msgspec.json.encode
_decode = msgspec.json.decode


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole answer. Raises ProviderUnavailable when it makes no sense."""
    try:
        answer = _decode(body)
        choices = tuple([read_choice(choice) for choice in answer["choices"]])
    except MALFORMED:
        raise invalid_answer(body) from None
    if not choices:
        raise ProviderUnavailable("The provider's response has no choices.")
    for choice in choices:
        if choice.native in FAILURES:
            raise ProviderUnavailable(GAVE_UP, detail=choice.native)
    return ChatAnswer(choices, read_usage(answer.get("usage")), read_extras(answer))


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


decode_chunk = msgspec.json.Decoder(Chunk).decode


class OpenAIDecoder:
    """Chunks to events."""

    __slots__ = ("_decode", "_marks", "framing")

    def __init__(self, decode: Callable[[bytes], Chunk] = decode_chunk) -> None:
        self.framing = SseDecoder()
        self._decode = decode
        self._marks: tuple[JsonValue, JsonValue] = None, None

    def read(self, data: bytes) -> list[StreamEvent]:
        if data == b"[DONE]":
            return [StreamEnd()]
        try:
            chunk = self._decode(data)
            if chunk.error:
                raise reported_error(chunk.error)
            # Mostly the same in every chunk: told once.
            marks = chunk.system_fingerprint, chunk.service_tier
            if marks == self._marks:
                chunk.system_fingerprint = chunk.service_tier = None
            self._marks = marks
            return _read_chunk(chunk)
        except MALFORMED:
            if not data.strip():
                return []
            raise invalid_stream(data) from None


def _read_chunk(chunk: Chunk) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    if chunk.usage is not None or chunk.system_fingerprint or chunk.service_tier:
        usage = read_usage(chunk.usage)
        marks = {name: getattr(chunk, name) for name in EXTRAS if getattr(chunk, name)}
        if usage is not None or marks:
            events.append(UsageReported(usage, marks))
    for choice in chunk.choices or ():
        # Nearly every chunk is text of the first choice, and nothing else.
        index = read_index(choice.index) if choice.index else 0
        reason, logprobs, fields = choice.finish_reason, choice.logprobs, choice.delta or {}
        content = fields.get("content")
        if len(fields) != 1 or not content or type(content) is not str:
            fields = _read_members(fields)
        if fields or (logprobs is not None and not reason):
            events.append(Delta(index, fields, logprobs))
            logprobs = None
        if reason:
            if reason in FAILURES:
                raise StreamBroken(GAVE_UP, detail=native(reason))
            events.append(Finish(index, read_finish_reason(reason), logprobs, native(reason)))
    return events


def read_index(index: object) -> int:
    """Return which choice is meant, the first where nothing is said. Raises ValueError."""
    if index is None:
        return 0
    if not isinstance(index, int) or not 0 <= index < MAX_CHOICES:
        raise ValueError("The choice index is out of range.")
    return index


def _read_members(delta: dict[str, object]) -> dict[str, object]:
    """Return what a delta or message adds: no role, no nulls, reasoning under one name."""
    fields = {name: value for name, value in delta.items() if value is not None and name != "role"}
    if isinstance(parts := fields.get("content"), list):
        fields |= _read_parts(parts)
    if len(fields) == 1 and fields.get("content"):
        return fields  # as most are
    if "reasoning_content" in fields:
        other = fields.pop("reasoning_content")
        fields.setdefault("reasoning", other)
    for name, nothing in NOTHING:
        if name in fields and fields[name] == nothing:
            del fields[name]
    return fields


def _read_parts(parts: list[JsonObject]) -> dict[str, object]:
    """Return content in parts, of which Mistral's models that reason have some that they thought:
    https://docs.mistral.ai/capabilities/reasoning"""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    thoughts = [
        thought["text"]
        for part in parts
        if part["type"] == "thinking"
        for thought in part["thinking"]
        if thought["type"] == "text"
    ]
    return {"content": "".join(texts), "reasoning": "".join(thoughts)}


def read_choice(choice: JsonObject) -> Choice:
    raw, reason = choice["message"], choice.get("finish_reason")
    content = raw.get("content")
    if content and len(raw) == PLAIN_MEMBERS and "role" in raw and isinstance(content, str):
        fields: dict[str, object] = {"content": content}
    else:
        fields = _read_members(raw)
    message = {"role": "assistant", "content": None if isinstance(content, list) else content}
    if message["content"] is None and "tool_calls" not in fields:
        message["content"] = ""
    message.update(fields)
    index = choice.get("index")
    return Choice(
        read_index(index) if index else 0,
        message,
        read_finish_reason(reason),
        choice.get("logprobs"),
        native(reason),
    )


def read_extras(raw: JsonObject) -> dict[str, object]:
    if EXTRAS.isdisjoint(raw):
        return {}
    return {name: raw[name] for name in EXTRAS if raw.get(name)}


def read_finish_reason(reason: object) -> str:
    """Return one of OpenAI's reasons; what we do not know is `stop`."""
    if not isinstance(reason, str):
        return "stop"
    return reason if reason in FINISH_REASONS else OTHER_REASONS.get(reason, "stop")


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
    if not searches.MEMBERS.isdisjoint(raw):
        return searches.read_usage(raw, prompt, completion)
    of_prompt = raw.get("prompt_tokens_details")
    of_completion = raw.get("completion_tokens_details")
    if not _tells_any(of_prompt) and not _tells_any(of_completion):
        cached = _read_cached(raw)
        return Usage(prompt, completion, cached if cached < prompt else prompt)
    cached = _read_detail(of_prompt, "cached_tokens") or _read_cached(raw)
    thought = _read_detail(of_completion, "reasoning_tokens")
    if thought and read_count(raw.get("total_tokens")) == prompt + completion + thought:
        # xAI's completion_tokens are those of the text alone:
        # https://docs.x.ai/docs/key-information/consumption-and-rate-limits
        completion += thought
    others: dict[str, int] = {}
    for unit in detailed_units():
        details = of_prompt if unit.part_of == "prompt" else of_completion
        if not isinstance(details, dict) or unit.usage_detail not in details:
            continue
        if count := _read_detail(details, unit.usage_detail):
            others[unit.name] = count
    cached = cached if cached < prompt else prompt
    thought = thought if thought < completion else completion
    return Usage(prompt, completion, cached, thought, others)


def _tells_any(details: object) -> bool:
    """False where all details are 0, as they are of most calls."""
    return isinstance(details, dict) and any(details.values())


def _read_cached(raw: JsonObject) -> int:
    """Return the cached tokens where they are beside the counts: DeepSeek's, or Moonshot's and
    Together's."""
    if CACHED.isdisjoint(raw):
        return 0
    return _read_detail(raw, "prompt_cache_hit_tokens") or _read_detail(raw, "cached_tokens")


def _read_detail(raw: object, name: str) -> int:
    """Return one of the details of a count; 0 where there is none that makes sense."""
    count = raw.get(name) if isinstance(raw, dict) else 0
    return (read_count(count) or 0) if count else 0


def reported_error(error: object) -> Exception:
    """An error inside a stream: classified as if it were an answer of that status."""
    body = error if isinstance(error, Mapping) else {"message": str(error)}
    code = body.get("code")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return read_error(status, {}, _encode({"error": dict(body)}))
