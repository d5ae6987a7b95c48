"""POST /messages, outbound: our events to Anthropic's messages and streams.

Reference: https://platform.claude.com/docs/en/build-with-claude/streaming
Members of ours, such as the cost, stand beside Anthropic's own; its SDKs pass over them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET

from gateway.core.errors import GatewayError
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Delta,
    Fields,
    Finish,
    ToolEvent,
    UsageReported,
    WrittenEvent,
)
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage, count_cache_writes, usd
from gateway.core.receipt import Receipt
from gateway.core.units import CACHE_WRITE_1H
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.response_schema import Fallback, HiToolEvent
from gateway.endpoints.chat_completions.write import (
    write_timings,
    write_tool_costs,
    write_tool_event,
    write_tool_events,
)
from gateway.endpoints.messages.answer_schema import (
    AnthropicMessage,
    CacheCreation,
    MessageDelta,
    MessageStart,
    MessageStop,
    MessageUsage,
    OutputTokensDetails,
    Ping,
    StopDelta,
    StopReason,
)
from gateway.endpoints.messages.blocks import BlockStream, write_blocks, write_event
from gateway.http.anthropic_errors import render_error
from gateway.http.sse import DATA, END

STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
# Of providers that say it in Anthropic's words.
NATIVE: Mapping[str, StopReason] = {
    "stop_sequence": "stop_sequence",
    "model_context_window_exceeded": "model_context_window_exceeded",
}
# Where a provider's events have the sequence that stopped it.
STOP_SEQUENCE = "stop_sequence"
PING = write_event(Ping())
_encode = msgspec.json.encode


def estimate(prompt_tokens_bound: int) -> Usage:
    """Return about what a prompt counts. Texts have about half the tokens that they are bound to
    have at most."""
    return Usage(max(1, prompt_tokens_bound // 2), 0)


def write_usage(usage: Usage, charge_nusd: int) -> MessageUsage:
    """Return the counts in Anthropic's meaning, and the cost."""
    counts = write_counts(usage)
    counts.cost = usd(charge_nusd)
    return counts


def write_counts(usage: Usage) -> MessageUsage:
    """Return the counts in Anthropic's meaning: what was read from a cache or written to one is no
    part of input_tokens."""
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(count_cache_writes(usage), usage.prompt_tokens - cached)
    for_an_hour = min(usage.others.get(CACHE_WRITE_1H, 0), written)
    thought = usage.reasoning_tokens
    return MessageUsage(
        input_tokens=usage.prompt_tokens - cached - written,
        cache_creation_input_tokens=written,
        cache_creation=CacheCreation(written - for_an_hour, for_an_hour) if written else UNSET,
        cache_read_input_tokens=cached,
        output_tokens=usage.completion_tokens,
        output_tokens_details=OutputTokensDetails(thought) if thought else UNSET,
    )


def find_stop(
    reason: str, native: str, extras: Fields, *, has_calls: bool, has_refusal: bool
) -> tuple[StopReason, str | None]:
    """Return stop_reason and stop_sequence."""
    if native in NATIVE:
        sequence = extras.get(STOP_SEQUENCE)
        return NATIVE[native], sequence if isinstance(sequence, str) else None
    if has_refusal and reason == "stop":
        return "refusal", None
    if has_calls and reason == "stop":
        return "tool_use", None
    return STOP_REASONS.get(reason, "end_turn"), None


class MessageWriter:
    """A Writer of buffered answers (gateway.endpoints.base)."""

    def __init__(self, form: AnswerForm) -> None:
        self._form = form

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        """Return the body of a buffered answer."""
        assert isinstance(answer, ChatAnswer)
        form, choice = self._form, answer.choices[0]
        reason, sequence = find_stop(
            choice.finish_reason,
            choice.native,
            answer.extras,
            has_calls=bool(choice.message.get("tool_calls")),
            has_refusal=bool(choice.message.get("refusal")),
        )
        return _encode(
            AnthropicMessage(
                id=form.answer_id,
                model=form.model,
                content=write_blocks(choice.message),
                stop_reason=reason,
                stop_sequence=sequence,
                usage=write_usage(receipt.usage, receipt.charge_nusd),
                timings=write_timings(receipt),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
                inferada=form.summary(),
                hi_tool_events=write_tool_events(answer) or UNSET,
                tool_costs_micro_usd=write_tool_costs(receipt),
            )
        )


class MessageStreamWriter(MessageWriter):
    """A StreamWriter. What it holds back until the cost is known is how the message ends."""

    keep_alive = PING
    ends_with_whole = False

    def __init__(self, form: AnswerForm, prompt_tokens_bound: int) -> None:
        super().__init__(form)
        self._prompt_tokens_bound = prompt_tokens_bound
        self.fallback: tuple[str, int] | None = None
        self.is_open = False
        self._blocks = BlockStream()
        self._finish = Finish(0, "stop")
        self._extras: JsonObject = {}
        self._so_far: Usage | None = None
        self._has_refusal = False
        self._tool_events: list[HiToolEvent] = []

    def open(self) -> bytes:
        """Return the event that every stream begins with. It says what the prompt counts where the
        provider has told that already, and else about what it will: some clients read no other.
        The last but one event has the counts in any case."""
        self.is_open = True
        form = self._form
        counts = write_counts(self._so_far or estimate(self._prompt_tokens_bound))
        # LangChain.js adds up what both events have; Anthropic counts one token here.
        counts.output_tokens = 0
        message = AnthropicMessage(
            id=form.answer_id,
            model=form.model,
            content=[],
            stop_reason=None,
            stop_sequence=None,
            usage=counts,
            episode_id=form.episode_id or UNSET,
        )
        return write_event(MessageStart(message))

    def write(self, event: WrittenEvent) -> bytes:
        """Return the events that this one amounts to, possibly none."""
        if isinstance(event, Delta):
            # The only answer there is: more than one cannot be asked for.
            if event.index:
                return b""
            if "refusal" in event.fields:
                self._has_refusal = True
            frames = self._blocks.add(event.fields)
            return frames if self.is_open or not frames else self.open() + frames
        if isinstance(event, Finish):
            if not event.index:
                self._finish = event
        elif isinstance(event, ToolEvent):
            return self._write_tool_event(event) if event.is_shown else b""
        elif isinstance(event, UsageReported):
            self._extras.update(event.extras)
            self._so_far = event.so_far or self._so_far
        return b""

    def _write_tool_event(self, event: ToolEvent) -> bytes:
        """Return a ping that has the event: some clients fail on types that they do not know."""
        written = write_tool_event(event)
        self._tool_events.append(written)
        return (b"" if self.is_open else self.open()) + write_event(Ping(written))

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last events. Each is to be written by itself."""
        frames = [] if self.is_open else [self.open()]
        if last := self._blocks.close():
            frames.append(last)
        reason, sequence = find_stop(
            self._finish.reason,
            self._finish.native,
            self._extras,
            has_calls=self._blocks.has_calls,
            has_refusal=self._has_refusal,
        )
        end = MessageDelta(
            delta=StopDelta(reason, sequence),
            usage=write_usage(receipt.usage, receipt.charge_nusd),
            credits_used=self._form.credits(receipt),
            inferada=self._form.summary(),
            hi_tool_events=self._tool_events or UNSET,
            tool_costs_micro_usd=write_tool_costs(receipt),
        )
        if self.fallback is not None:
            end.fallback = Fallback(*self.fallback)
        return [*frames, write_event(end), write_event(MessageStop())]

    def fail(self, error: GatewayError) -> bytes:
        """Return the event that ends a stream which cannot go on."""
        body = render_error(error, self._form.call_id, self._form.profile)[1]
        return b"event: error\n" + DATA + _encode(body) + END
