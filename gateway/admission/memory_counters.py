"""Counters in this process's memory (gateway.admission.counter_protocols)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gateway.admission.concurrency_limiter import ConcurrencyLimiter
from gateway.admission.counter_protocols import Correction, ReadSpent
from gateway.admission.kept_counts import CountStore, KeptCounts
from gateway.admission.memory_spending import MemorySpendings
from gateway.admission.request_rate import TokenBucket
from gateway.admission.rule_counters import RuleCounter, make_counter
from gateway.snapshot.types import LimitRule


class MemoryCounters:
    """For one process and one event loop. store: keeps what rules count until the next start."""

    levels = None

    def __init__(self, read_spent: ReadSpent, store: CountStore | None = None) -> None:
        self._read_spent = read_spent
        self._kept = None if store is None else KeptCounts(store, self.now_us)

    async def start(self) -> None:
        if self._kept is not None:
            await self._kept.start()

    def rate(self, owner: str, per_minute: int, burst: int, *, workspace_id: str) -> TokenBucket:
        return TokenBucket(per_minute, burst, time.monotonic_ns())

    def concurrency(self, owner: str, limit: int, *, workspace_id: str) -> ConcurrencyLimiter:
        return ConcurrencyLimiter(limit)

    def spending(self) -> MemorySpendings:
        return MemorySpendings(self._read_spent)

    def rule(self, rule: LimitRule) -> RuleCounter:
        counter = make_counter(rule)
        if self._kept is not None:
            self._kept.follow(rule, counter)
        return counter

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def correct(self, corrections: Sequence[Correction]) -> None:
        now_us = self.now_us()
        for reserved, delta in corrections:
            reserved.counter.correct(delta, reserved.at_us, now_us)

    async def aclose(self) -> None:
        if self._kept is not None:
            await self._kept.aclose()
