"""What has happened to one call so far. The one thing on the way that is counted on."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Protocol

from msgspec.structs import replace

from gateway.core.errors import GatewayError, UpstreamError
from gateway.core.money import Price, Usage
from gateway.core.processing import Processing
from gateway.core.receipt import Attempt, ToolRun, ToolUse
from gateway.streaming.loop_notes import LoopNotes

NS_PER_US = 1_000
# So many pieces show whether each is a token; longer ones hold several, and are kept.
SAMPLE_PIECES = 32
MAX_CHARS_OF_ONE_TOKEN = 8
MAX_KEPT_CHARS = 200_000


class MeteredTarget(Protocol):
    """What a call is sent to (gateway.snapshot.types)."""

    @property
    def provider(self) -> str: ...

    @property
    def native_model(self) -> str: ...

    @property
    def credential(self) -> str: ...

    @property
    def price(self) -> Price: ...


class MeteredExchange(Protocol):
    """An attempt (gateway.streaming.relay)."""

    @property
    def was_sent(self) -> bool: ...


class Meter:
    """Counts and moments of a call. Moments are perf_counter_ns; 0 means not yet.

    deltas, chars: pieces with output in them, and their characters. other_outputs: what came that
    is no text and has no tokens, such as vectors. sound_bytes: of the sound that came.
    has_answered: a byte of the answer went to the caller, so no other target may be tried.
    finished: the choices that the provider said are complete; finish_reason: why the first of them
    is, native_finish_reason: the same in the provider's word. usage_so_far: the provider's counts
    before the end, of which those of the prompt are complete. tool_calls: which were made, by
    choice and position. tool_uses: what tools of the gateway did, each at its price. fallback: the
    model that is tried in the place of the one asked for, empty for that itself. exchange: the
    attempt, which knows whether its request has gone out. pieces: the first texts of the output,
    all of them while `keeps` is true: they are counted if the provider does not. processing: what
    processors do; None for calls without. loop: what the rounds of a tool loop have come to; None
    for calls without. Outputs are then those of the running round.
    """

    __slots__ = (
        "admitted_ns",
        "attempt_ns",
        "attempts",
        "chars",
        "deltas",
        "exchange",
        "failed_ns",
        "fallback",
        "finish_reason",
        "finished",
        "first_event_ns",
        "has_answered",
        "keeps",
        "loop",
        "native_finish_reason",
        "other_outputs",
        "pieces",
        "processing",
        "sound_bytes",
        "started_ns",
        "target",
        "tool_calls",
        "tool_uses",
        "upstream_ns",
        "usage",
        "usage_so_far",
    )

    def __init__(
        self, started_ns: int, admitted_ns: int, processing: Processing | None = None
    ) -> None:
        self.started_ns = started_ns
        self.admitted_ns = admitted_ns
        self.attempt_ns = 0
        self.upstream_ns = 0
        self.failed_ns = 0
        self.first_event_ns = 0
        self.attempts: list[Attempt] = []
        self.target: MeteredTarget | None = None
        self.deltas = 0
        self.chars = 0
        self.other_outputs = 0
        self.sound_bytes = 0
        self.usage: Usage | None = None
        self.usage_so_far: Usage | None = None
        self.finish_reason = self.native_finish_reason = ""
        self.finished: set[int] = set()
        self.tool_calls: set[tuple[int, object]] = set()
        self.tool_uses: list[ToolUse] = []
        self.has_answered = False
        self.fallback = ""
        self.exchange: MeteredExchange | None = None
        self.pieces: list[str] = []
        self.keeps = True
        self.processing = processing
        self.loop: LoopNotes | None = None

    @property
    def was_sent(self) -> bool:
        """True when a provider has got the request, and has not refused it."""
        return self.exchange is not None and self.exchange.was_sent

    @property
    def has_output(self) -> bool:
        if self.deltas > 0 or self.other_outputs > 0:
            return True
        return self.loop is not None and self.loop.has_ended_round

    def begin_attempt(self, target: MeteredTarget) -> None:
        """Start the clock of an attempt, and forget what one before it said of its end."""
        self.target = target
        self.exchange = None
        self.usage = self.usage_so_far = None
        self.finish_reason = self.native_finish_reason = ""
        self.finished.clear()
        self.tool_calls.clear()
        self.tool_uses.clear()
        self.loop = None
        self.attempt_ns = perf_counter_ns()

    def begin_round(self, exchange: MeteredExchange) -> None:
        """A provider is asked for a round of a tool loop."""
        if self.loop is None:
            self.loop = LoopNotes()
        now_ns = perf_counter_ns()
        if self.loop.tools_since_ns:
            self.attempt_ns = now_ns
            self.usage = None
            self.loop.stop_tools(now_ns - self._take_processing_ns())
        self.loop.begin(exchange)

    def end_round(self, usage: Usage | None) -> None:
        """A round has ended well, and its tools run. usage: None where the provider counted
        nothing; what it said is then counted with what follows."""
        loop, now_ns = self.loop, perf_counter_ns()
        assert loop is not None
        spent_ns = now_ns - self.attempt_ns - self._take_processing_ns()
        self.upstream_ns += spent_ns
        self._note_attempt(spent_ns, None)
        loop.end(usage, now_ns)
        self.usage_so_far = None
        if usage is not None:
            self.deltas = self.chars = 0
            self.pieces.clear()
            self.keeps = True
        self.usage = loop.counted if loop.is_complete else None

    def count_delta(self, chars: int) -> None:
        """Count a piece of output; the first one marks the time to first token."""
        if not self.first_event_ns:
            self.first_event_ns = perf_counter_ns()
        if chars:
            self.deltas += 1
            self.chars += chars

    def count_other_output(self, count: int) -> None:
        """Count output that is no text and has no tokens."""
        if not self.first_event_ns:
            self.first_event_ns = perf_counter_ns()
        self.other_outputs += count

    def count_sound(self, size_bytes: int) -> None:
        """Count a piece of sound."""
        self.count_other_output(1)
        self.sound_bytes += size_bytes

    def keep(self, text: str) -> None:
        """Keep a text of the output. Pieces that are a token each need not be kept for long: they
        are counted by their number."""
        self.pieces.append(text)
        if len(self.pieces) >= SAMPLE_PIECES:
            are_short = self.chars <= MAX_CHARS_OF_ONE_TOKEN * self.deltas
            self.keeps = not are_short and self.chars < MAX_KEPT_CHARS

    def note_tool_calls(self, choice: int, calls: object) -> None:
        """Note which tool calls a delta or a message is about."""
        if isinstance(calls, list):
            for position, call in enumerate(calls):
                index = call.get("index") if isinstance(call, dict) else None
                self.tool_calls.add((choice, index if isinstance(index, int) else position))

    def note_tool_run(self, run: ToolRun, nusd_each: int) -> None:
        """Note that a tool of the gateway has run. nusd_each: what each of its units costs."""
        assert self.loop is not None
        self.loop.runs.append(run)
        if run.units:
            self._add_use(run.plugin, run.units, nusd_each)

    def note_withheld(self, run: ToolRun) -> None:
        """Note that processors have withheld the result of a run. It costs what it did."""
        assert self.loop is not None
        runs = self.loop.runs
        runs[runs.index(run)] = replace(run, status="withheld")

    def _add_use(self, plugin: str, units: int, nusd_each: int) -> None:
        for place, use in enumerate(self.tool_uses):
            if (use.name, use.nusd_each) == (plugin, nusd_each):
                self.tool_uses[place] = ToolUse(plugin, use.uses + units, nusd_each)
                return
        self.tool_uses.append(ToolUse(plugin, units, nusd_each))

    def finish(self, choice: int, reason: str, native: str = "") -> None:
        """Note that a choice is complete."""
        self.finished.add(choice)
        if not self.finish_reason:
            self.finish_reason, self.native_finish_reason = reason, native

    def end_attempt(self, error: GatewayError | None = None) -> None:
        """Close the running attempt: served when error is None, else failed."""
        target = self.target
        if target is None or not self.attempt_ns:
            return
        now_ns = perf_counter_ns()
        if self.loop is not None and self.loop.tools_since_ns:
            # It ended while tools ran, and no provider was asked.
            self.loop.stop_tools(now_ns - self._take_processing_ns())
            self.attempt_ns = 0
            return
        spent_ns = now_ns - self.attempt_ns - self._take_processing_ns()
        if self.processing is not None:
            self._note_lost(self.processing)
        self.attempt_ns = 0
        if error is None:
            self.upstream_ns += spent_ns
        else:
            self.failed_ns += spent_ns
        self._note_attempt(spent_ns, error)

    def _take_processing_ns(self) -> int:
        """Return what processors have spent since this was last asked: no part of what ran
        meanwhile."""
        return 0 if self.processing is None else self.processing.take_answer_ns()

    def _note_attempt(self, spent_ns: int, error: GatewayError | None) -> None:
        target = self.target
        assert target is not None
        self.attempts.append(
            Attempt(
                provider=target.provider,
                model=target.native_model,
                code="" if error is None else error.code,
                status=200 if error is None else status_told(error),
                us=spent_ns // NS_PER_US,
                fallback=self.fallback,
                credential=target.credential,
                round=0 if self.loop is None else self.loop.round,
            )
        )

    def _note_lost(self, processing: Processing) -> None:
        """Note an answer that no processor could finish: it was paid for, and nobody gets it."""
        if (lost := processing.lost_answer) is not None:
            self.usage = lost.usage
            lost.note(self)
            processing.lost_answer = None


def status_told(error: GatewayError) -> int:
    """Return what the provider refused with; where it did not answer or broke off, the status of
    our own answer."""
    told = error.provider_status if isinstance(error, UpstreamError) else 0
    return told or error.status
