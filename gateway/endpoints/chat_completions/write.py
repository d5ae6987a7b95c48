"""POST /chat/completions, outbound: our events to OpenAI's chunks, answers and errors.

Every frame is a full chunk object on one `data:` line, written whole, but for the error that ends
a broken stream; `id`, `created` and `model` never change within a stream. Where usage goes is the
profile's: see place_usage.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from gateway.core.errors import GatewayError
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Choice,
    Delta,
    Fields,
    Finish,
    ToolEvent,
    UsageReported,
    WrittenEvent,
)
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage, count_cache_writes, usd, write_micro_usd
from gateway.core.profiles import Profile
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.response_schema import (
    AnswerChoice,
    AnswerMessage,
    ChatCompletion,
    ChatCompletionChunk,
    ChunkChoice,
    ChunkHead,
    CompletionTokensDetails,
    CompletionUsage,
    Fallback,
    HiToolEvent,
    PromptTokensDetails,
    Timings,
)
from gateway.http.error_format import render_error
from gateway.http.sse import DATA, DONE, END, KEEP_ALIVE

CHUNK_END, CHUNK_END_WITH_USAGE = b"}" + END, b',"usage":null}' + END
# Where the usage of a stream goes.
NOWHERE, ON_FINISH, AFTER_FINISH = "nowhere", "on_finish", "after_finish"
TRAILING, TWICE = "trailing", "twice"
# Nobody asked for the usage, so its chunk has a choice for the loops that read one in each chunk,
# and no finish_reason: one client passes over the reason of a chunk with usage, another joins
# the reasons of all chunks.
EMPTY_CHOICE = ChunkChoice(0, {}, None)
_encode = msgspec.json.encode


def write_usage(usage: Usage, charge_nusd: int) -> CompletionUsage:
    """Return the `usage` object: OpenAI's fields and the cost in USD."""
    written = count_cache_writes(usage) if usage.others else 0
    return CompletionUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details=PromptTokensDetails(usage.cached_tokens, written or UNSET),
        completion_tokens_details=CompletionTokensDetails(usage.reasoning_tokens),
        cost=usd(charge_nusd),
    )


def spell_reasoning(fields: Fields, profile: Profile) -> Fields:
    """Return the fields with reasoning, when there is any, under the profile's names."""
    if "reasoning" not in fields:
        return fields
    reasoning = fields["reasoning"]
    others = {name: value for name, value in fields.items() if name != "reasoning"}
    return others | dict.fromkeys(profile.reasoning, reasoning)


def spell_extras(extras: Fields, profile: Profile) -> tuple[str | UnsetType, str | UnsetType]:
    """Return the provider's system_fingerprint and service_tier as the profile shows them."""
    if profile.markers == "none":
        return UNSET, UNSET
    absent = UNSET if profile.markers == "given" else ""
    return extras.get("system_fingerprint", absent), extras.get("service_tier", absent)


def place_usage(mode: str, include_usage: bool | None) -> str:
    """Return where the usage of a stream goes, by the profile's mode and the caller's wish."""
    if mode == "separate":
        return TRAILING
    if mode == "two_chunk":
        return TWICE
    if mode == "on_finish":
        return ON_FINISH if include_usage else NOWHERE
    if include_usage:
        return TRAILING
    return AFTER_FINISH if mode == "auto" and include_usage is None else NOWHERE


class AnswerWriter:
    """A Writer of buffered answers (gateway.endpoints.base)."""

    keep_alive = KEEP_ALIVE
    fallback: tuple[str, int] | None = None
    ends_with_whole = False

    def __init__(self, form: AnswerForm) -> None:
        self._form = form

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        """Return the body of a buffered answer (gateway contract, section 7.1)."""
        assert isinstance(answer, ChatAnswer)
        form = self._form
        profile = form.profile
        fingerprint, tier = spell_extras(answer.extras, profile)
        return _encode(
            ChatCompletion(
                id=form.answer_id,
                object="chat.completion",
                created=form.created,
                model=form.model,
                choices=[write_choice(choice, profile) for choice in answer.choices],
                # One SDK takes no answer without it.
                system_fingerprint=None if fingerprint is UNSET else fingerprint,
                service_tier=tier,
                usage=write_usage(receipt.usage, receipt.charge_nusd),
                timings=write_timings(receipt),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
                inferada=form.summary(),
                hi_tool_events=(answer.tool_events and write_tool_events(answer)) or UNSET,
                tool_costs_micro_usd=write_tool_costs(receipt) if receipt.tools else UNSET,
            )
        )


class ChunkWriter(AnswerWriter):
    """A Writer of streams. Holds finish chunks back until the cost is known."""

    def __init__(self, form: AnswerForm, *, include_usage: bool | None) -> None:
        super().__init__(form)
        head = ChunkHead(
            form.answer_id,
            "chat.completion.chunk",
            form.created,
            form.model,
            form.episode_id or UNSET,
        )
        # Everything up to the choices is the same in every frame: encoded once.
        self._chunk_head = head
        self._head = DATA + _encode(head)[:-1] + b","
        self._tail = CHUNK_END_WITH_USAGE if include_usage else CHUNK_END
        self._before_delta = self._head + b'"choices":[{"index":0,"delta":'
        self._behind_delta = b',"finish_reason":null}]' + self._tail
        self._asks_for_usage = bool(include_usage)
        self._where = place_usage(form.profile.usage_mode, include_usage)
        self._profile = form.profile
        self._extras: JsonObject = {}
        self._has_role: set[int] = set()
        self._held: dict[int, Finish] = {}
        self._call_id = form.call_id
        self._credits = form.credits

    @property
    def is_open(self) -> bool:
        """True once the role frame has been made."""
        return bool(self._has_role)

    def open(self) -> bytes:
        """Return the role frame that every stream begins with."""
        return self._open_choice(0)

    def _open_choice(self, index: int) -> bytes:
        self._has_role.add(index)
        return self._frame(ChunkChoice(index, {"role": "assistant", "content": ""}, None))

    def _frame(self, choice: ChunkChoice) -> bytes:
        return self._head + b'"choices":[' + _encode(choice) + b"]" + self._tail

    def _chunk(self, *choices: ChunkChoice) -> ChatCompletionChunk:
        """Return a chunk of the stream's end, with the provider's own fields."""
        head = self._chunk_head
        fingerprint, tier = spell_extras(self._extras, self._profile)
        return ChatCompletionChunk(
            head.id,
            head.object,
            head.created,
            head.model,
            head.episode_id,
            choices=list(choices),
            system_fingerprint=fingerprint,
            service_tier=tier,
        )

    def write(self, event: WrittenEvent) -> bytes:
        """Return the frames this event amounts to, possibly none."""
        if isinstance(event, Delta):
            fields = event.fields
            # Nearly every piece is text of the first choice.
            if (
                not event.index
                and event.logprobs is None
                and 0 in self._has_role
                and "reasoning" not in fields
            ):
                return self._before_delta + _encode(fields) + self._behind_delta
            return self._write_delta(event)
        if isinstance(event, Finish):
            self._held[event.index] = event
        elif isinstance(event, ToolEvent):
            return self._write_tool_event(event) if event.is_shown else b""
        elif isinstance(event, UsageReported):
            self._extras.update(event.extras)
        return b""

    def _write_tool_event(self, event: ToolEvent) -> bytes:
        """Return an empty delta with the event beside it, which loops over choices pass over."""
        role = b"" if self._has_role else self._open_choice(0)
        body = _encode({"choices": [EMPTY_CHOICE], "hi_tool_event": write_tool_event(event)})
        return role + self._head + body[1:] + END

    def _write_delta(self, event: Delta) -> bytes:
        role = b"" if event.index in self._has_role else self._open_choice(event.index)
        delta = dict(spell_reasoning(event.fields, self._profile))
        logprobs = UNSET if event.logprobs is None else event.logprobs
        return role + self._frame(ChunkChoice(event.index, delta, None, logprobs))

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last frames: finish, usage, [DONE]. Each is to be written by itself."""
        frames = []
        for position, finish in enumerate(self._held.values()):
            is_last = position == len(self._held) - 1
            frames.append(self._write_finish(finish, receipt if is_last else None))
        frames += self._write_trailing(receipt)
        frames.append(DONE)
        return frames

    def _write_finish(self, finish: Finish, receipt: Receipt | None) -> bytes:
        role = b"" if finish.index in self._has_role else self._open_choice(finish.index)
        logprobs = UNSET if finish.logprobs is None else finish.logprobs
        chunk = self._chunk(ChunkChoice(finish.index, {}, finish.reason, logprobs))
        if self._asks_for_usage and self._where != ON_FINISH:
            chunk.usage = None
        elif receipt is not None and self._where == ON_FINISH:
            chunk.usage = write_usage(receipt.usage, receipt.charge_nusd)
            chunk.tool_costs_micro_usd = write_tool_costs(receipt)
            chunk.credits_used = self._credits(receipt)
        if receipt is not None:
            if self.fallback is not None:
                chunk.fallback = Fallback(*self.fallback)
            if self._where in (NOWHERE, ON_FINISH):
                chunk.inferada = self._form.summary()
        return role + _write_event(chunk)

    def _write_trailing(self, receipt: Receipt) -> list[bytes]:
        """Return the chunks behind the finish chunks that carry the usage."""
        if self._where in (NOWHERE, ON_FINISH):
            return []
        chunk = self._chunk(*[EMPTY_CHOICE] if self._where == AFTER_FINISH else [])
        chunk.usage = write_usage(receipt.usage, receipt.charge_nusd)
        # The second repeats the usage: one SDK keeps what the last chunk says, even nothing.
        frames = [_write_event(chunk)] if self._where == TWICE else []
        chunk.credits_used = self._credits(receipt)
        chunk.tool_costs_micro_usd = write_tool_costs(receipt)
        chunk.inferada = self._form.summary()
        return [*frames, _write_event(chunk)]

    def fail(self, error: GatewayError) -> bytes:
        """Return the frame that ends a stream which cannot go on, and [DONE].

        It is an error's body and no chunk: some clients know a failure by `error` as the first
        member, others take every frame with `choices` for a part of the answer.
        """
        body = render_error(error, self._call_id, self._profile)[1]
        return DATA + _encode(body) + END + DONE


def _write_event(chunk: ChatCompletionChunk) -> bytes:
    return DATA + _encode(chunk) + END


def write_tool_costs(receipt: Receipt) -> dict[str, str] | UnsetType:
    """Return what each tool of the gateway has cost, in micro-USD; UNSET where none has run."""
    costs: dict[str, int] = {}
    for use in receipt.tools:
        if use.uses:
            costs[use.name] = costs.get(use.name, 0) + use.uses * use.nusd_each
    return {name: write_micro_usd(nusd) for name, nusd in costs.items()} or UNSET


def write_tool_events(answer: ChatAnswer) -> list[HiToolEvent]:
    """Return the tool events of a buffered answer that its caller is to see."""
    return [write_tool_event(one) for one in answer.tool_events if one.is_shown]


def write_tool_event(event: ToolEvent) -> HiToolEvent:
    """Return a tool event as callers see it (gateway contract, section 6.10)."""
    written = HiToolEvent(
        type=event.type,
        plugin=event.plugin,
        function=event.function,
        call_id=event.call_id,
        seq=event.seq,
    )
    if event.type == "tool_start":
        written.arguments = event.arguments or {}
    else:
        written.preview = event.preview
        written.duration_ms = event.duration_ms
        written.cost_micro_usd = write_micro_usd(event.nusd)
    return written


def write_choice(choice: Choice, profile: Profile) -> AnswerChoice:
    message = spell_reasoning(choice.message, profile)
    if profile.shows_empty_tool_calls and "tool_calls" not in message:
        message = {**message, "tool_calls": []}
    # Written as the provider sent it, with members that the type may not know.
    known: AnswerMessage = message  # type: ignore[assignment]
    return AnswerChoice(choice.index, known, choice.finish_reason, choice.logprobs)


def _per_second(count: int, duration_us: int) -> float:
    """Return the rate with two decimals, as round() would in ten times as long."""
    return (count * 100_000_000 + duration_us // 2) // duration_us / 100


def write_timings(receipt: Receipt) -> Timings:
    """Return `timings` (gateway contract, section 7.4): the parts add up to total_ms."""
    total_ms = (receipt.total_us + 500) // 1000
    upstream_ms = min((receipt.upstream_us + 500) // 1000, total_ms)
    tokens = receipt.usage.completion_tokens
    has_rate = tokens > 0 and receipt.upstream_us > 0
    rest_ms = total_ms - upstream_ms
    queued_ms = failed_ms = processors_ms = tools_ms = 0
    # Most calls have none of these.
    if receipt.queued_us:
        queued_ms = min((receipt.queued_us + 500) // 1000, rest_ms)
        rest_ms -= queued_ms
    if receipt.failed_us:
        failed_ms = min((receipt.failed_us + 500) // 1000, rest_ms)
        rest_ms -= failed_ms
    if receipt.processors:
        processors_ms = min((receipt.processors_us + 500) // 1000, rest_ms)
        rest_ms -= processors_ms
    if receipt.tools_us:
        tools_ms = min((receipt.tools_us + 500) // 1000, rest_ms)
        rest_ms -= tools_ms
    return Timings(
        total_ms=total_ms,
        upstream_ms=upstream_ms,
        tokens_per_second=_per_second(tokens, receipt.upstream_us) if has_rate else UNSET,
        processors_ms=processors_ms if receipt.processors else UNSET,
        queued_ms=queued_ms or UNSET,
        failed_ms=failed_ms or UNSET,
        tools_ms=tools_ms or UNSET,
        gateway_ms=rest_ms or UNSET,
    )
