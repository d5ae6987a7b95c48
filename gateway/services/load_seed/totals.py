"""What drawn calls add up to: ledger entries, and the totals of each quarter of an hour."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gateway.core.latency_histogram import bucket_of
from gateway.core.time_spans import QUARTER_S
from gateway.services.load_seed.calls import Drawn, Place
from gateway.services.load_seed.installation import PROVIDER
from gateway.stores.error_totals import FAILED

CALLS_PER_ENTRY = 5  # of one key in one batch of the drain
QUARTER_MS = QUARTER_S * 1_000


class UsagePlace(NamedTuple):
    quarter: int
    place: Place
    model: str
    status: str


class LatencyPlace(NamedTuple):
    quarter: int
    workspace: int
    model: str
    measure: str
    bucket: int


class ErrorPlace(NamedTuple):
    quarter: int
    place: Place
    provider: str
    status: str
    error_code: str


@dataclass(slots=True)
class Spending:
    """What a key has spent since its last entry. last: the number of the newest call."""

    charge_nusd: int = 0
    calls: int = 0
    last: int = 0
    last_ms: int = 0


class Entry(NamedTuple):
    """A ledger entry to be."""

    place: Place
    spending: Spending


class Totals:
    """Sums over calls, which come oldest first."""

    def __init__(self) -> None:
        self.usage: dict[UsagePlace, list[int]] = {}
        self.latency: Counter[LatencyPlace] = Counter()
        # Calls, and when the first and the last began, in seconds.
        self.errors: dict[ErrorPlace, list[float]] = {}
        self._spending: dict[Place, Spending] = defaultdict(Spending)
        self._entries: list[Entry] = []

    def add(self, call: Drawn) -> None:
        quarter, sort, numbers = call.at_ms // QUARTER_MS, call.sort, call.numbers
        status = sort.outcome.status
        sums = self.usage.setdefault(
            UsagePlace(quarter, call.place, sort.model, status), [0, 0, 0, 0, 0]
        )
        sums[0] += 1
        sums[1] += numbers.prompt_tokens
        sums[2] += numbers.completion_tokens
        sums[3] += numbers.charge_nusd
        sums[4] += numbers.absorbed_nusd
        if status == "ok":
            self._add_latency(quarter, call)
        elif status in FAILED:
            self._add_error(quarter, call)
        if numbers.charge_nusd:
            self._spend(call)

    def take_entries(self) -> Iterator[Entry]:
        """Yield the entries since the last time, and those of what is left of each key."""
        yield from self._entries
        yield from (Entry(place, left) for place, left in self._spending.items())
        self._entries = []
        self._spending = defaultdict(Spending)

    def _spend(self, call: Drawn) -> None:
        spent = self._spending[call.place]
        spent.charge_nusd += call.numbers.charge_nusd
        spent.calls += 1
        spent.last, spent.last_ms = call.number, call.at_ms
        if spent.calls == CALLS_PER_ENTRY:
            self._entries.append(Entry(call.place, self._spending.pop(call.place)))

    def _add_latency(self, quarter: int, call: Drawn) -> None:
        group = (quarter, call.place.workspace, call.sort.model)
        numbers, count = call.numbers, self.latency
        count[LatencyPlace(*group, "total", bucket_of(numbers.total_us))] += 1
        added_us = numbers.total_us - numbers.upstream_us
        count[LatencyPlace(*group, "added", bucket_of(added_us))] += 1
        if call.sort.streamed and numbers.ttft_us is not None:
            count[LatencyPlace(*group, "ttft", bucket_of(numbers.ttft_us))] += 1

    def _add_error(self, quarter: int, call: Drawn) -> None:
        outcome = call.sort.outcome
        provider = "" if outcome.is_refused else PROVIDER
        place = ErrorPlace(quarter, call.place, provider, outcome.status, outcome.error_code)
        at_s = call.at_ms / 1_000
        known = self.errors.setdefault(place, [0, at_s, at_s])
        known[0] += 1
        known[2] = at_s
