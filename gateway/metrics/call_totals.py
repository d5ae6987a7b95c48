"""Counts of calls since the process began, added up as their records pass on their way to the
journal: a few integers per call.

Written by the event loop alone and read from any thread. Labels come from the catalogue, never from
callers, and their number is bounded: what comes after that is counted under "other".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from gateway.journal.log import Sink
from gateway.journal.record import Settled

OTHER = "other"
MAX_SERIES = 500
MAX_OUTCOMES = 500

# Upper bounds in microseconds. Those of whole calls and first tokens are the ones that
# OpenTelemetry's conventions for generative AI recommend.
TOTAL_BOUNDS_US = tuple(10_000 * 2**power for power in range(14))
FIRST_TOKEN_BOUNDS_US = (
    *(1_000, 5_000, 10_000, 20_000, 40_000, 60_000, 80_000, 100_000, 250_000, 500_000, 750_000),
    *(1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000),
)
ADDED_BOUNDS_US = (
    *(250, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000),
)


class Histogram:
    """Durations by the first bound that is not below them; the last count is of longer ones."""

    __slots__ = ("bounds_us", "counts", "sum_us")

    def __init__(self, bounds_us: Sequence[int]) -> None:
        self.bounds_us = bounds_us
        self.counts = [0] * (len(bounds_us) + 1)
        self.sum_us = 0

    def add(self, us: int) -> None:
        self.counts[bisect_left(self.bounds_us, us)] += 1
        self.sum_us += us

    def add_all(self, other: Histogram) -> None:
        """Add another histogram of the same bounds."""
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.sum_us += other.sum_us


class CallSeries:
    """Calls of one endpoint and model, streamed or not."""

    __slots__ = (
        "absorbed_nusd",
        "added",
        "cached_tokens",
        "charge_nusd",
        "completion_tokens",
        "ended",
        "first_token",
        "prompt_tokens",
        "reasoning_tokens",
        "total",
    )

    def __init__(self) -> None:
        # By how they ended.
        self.ended: dict[str, int] = {}
        self.prompt_tokens = self.cached_tokens = 0
        self.completion_tokens = self.reasoning_tokens = 0
        self.charge_nusd = self.absorbed_nusd = 0
        self.total = Histogram(TOTAL_BOUNDS_US)
        self.added = Histogram(ADDED_BOUNDS_US)
        # Of streams only.
        self.first_token = Histogram(FIRST_TOKEN_BOUNDS_US)


class CallTotals:
    """Stands before the journal (gateway.journal.log.Sink) and counts the calls that end."""

    def __init__(self, sink: Sink) -> None:
        self.admitted = sink.admitted
        self.refused = sink.refused
        self._settled = sink.settled
        # By endpoint, public name of the model, and whether the answer was streamed.
        self._series: dict[tuple[str, str, bool], CallSeries] = {}
        # Attempts by provider and error code, empty for those that served.
        self._attempts: dict[tuple[str, str], int] = {}

    def settled(self, record: Settled) -> None:
        """Hand the record on, and count the call. Never raises."""
        self._settled(record)
        identity, receipt = record.identity, record.receipt
        place = (identity.endpoint, record.served.model, identity.streamed)
        try:
            series = self._series[place]
        except KeyError:
            series = self._begin(place)
        try:
            series.ended[receipt.status] += 1
        except KeyError:
            series.ended[receipt.status] = 1
        usage = receipt.usage
        series.prompt_tokens += usage.prompt_tokens
        series.completion_tokens += usage.completion_tokens
        if usage.cached_tokens:
            series.cached_tokens += usage.cached_tokens
        if usage.reasoning_tokens:
            series.reasoning_tokens += usage.reasoning_tokens
        series.charge_nusd += receipt.charge_nusd
        if receipt.absorbed_nusd:
            series.absorbed_nusd += receipt.absorbed_nusd
        # Without a function for each: those would be most of what counting costs.
        total_us = receipt.total_us
        total = series.total
        total.counts[bisect_left(TOTAL_BOUNDS_US, total_us)] += 1
        total.sum_us += total_us
        added_us = total_us - receipt.upstream_us - receipt.failed_us
        added = series.added
        added.counts[bisect_left(ADDED_BOUNDS_US, added_us)] += 1
        if added_us > 0:
            added.sum_us += added_us
        if identity.streamed and receipt.ttft_us is not None:
            series.first_token.add(receipt.ttft_us)
        for attempt in record.attempts:
            outcome = (attempt.provider, attempt.code)
            try:
                self._attempts[outcome] += 1
            except KeyError:
                self._begin_outcome(outcome)

    def series(self) -> list[tuple[tuple[str, str, bool], CallSeries]]:
        """Return the calls by endpoint, model and whether they were streamed."""
        return list(self._series.items())

    def attempts(self) -> list[tuple[tuple[str, str], int]]:
        """Return the attempts by provider and error code."""
        return list(self._attempts.items())

    def _begin(self, place: tuple[str, str, bool]) -> CallSeries:
        if len(self._series) >= MAX_SERIES:
            place = (place[0], OTHER, place[2])
        return self._series.setdefault(place, CallSeries())

    def _begin_outcome(self, outcome: tuple[str, str]) -> None:
        if len(self._attempts) >= MAX_OUTCOMES:
            outcome = (OTHER, outcome[1])
        self._attempts[outcome] = self._attempts.get(outcome, 0) + 1
