"""Counters in this process's memory (gateway.admission.counter_protocols)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from gateway.admission.concurrency_limiter import ConcurrencyLimiter
from gateway.admission.counter_protocols import Correction, ReadSpent
from gateway.admission.request_rate import TokenBucket
from gateway.admission.rule_counters import RuleCounter, make_counter
from gateway.admission.spending import Spending
from gateway.snapshot.types import LimitRule, SpendingLimits


class MemoryCounters:
    """For one process and one event loop."""

    levels = None

    def __init__(self, read_spent: ReadSpent) -> None:
        self._read_spent = read_spent

    async def start(self) -> None:
        """Nothing has to be opened."""

    def rate(self, owner: str, per_minute: int, burst: int, *, workspace_id: str) -> TokenBucket:
        return TokenBucket(per_minute, burst, time.monotonic_ns())

    def concurrency(self, owner: str, limit: int, *, workspace_id: str) -> ConcurrencyLimiter:
        return ConcurrencyLimiter(limit)

    def spending(self, key_id: str) -> MemorySpending:
        return MemorySpending(key_id, self._read_spent)

    def rule(self, rule: LimitRule) -> RuleCounter:
        return make_counter(rule)

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def correct(self, corrections: Sequence[Correction]) -> None:
        now_us = self.now_us()
        for reserved, delta in corrections:
            reserved.counter.correct(delta, reserved.at_us, now_us)

    async def aclose(self) -> None:
        """Nothing is open."""


class MemorySpending(Spending):
    """One key's spending, read from the ledger once and counted on from there."""

    __slots__ = ("_invalidations", "_key_id", "_read_spent", "_reading")

    def __init__(self, key_id: str, read_spent: ReadSpent) -> None:
        super().__init__()
        self._key_id = key_id
        self._read_spent = read_spent
        self._reading: asyncio.Task[None] | None = None
        self._invalidations = 0

    @property
    def is_idle(self) -> bool:
        return self.is_read and not self.held_nusd

    def try_hold(self, limits: SpendingLimits, want_nusd: int) -> bool:
        if not self.is_read:
            return False
        self.add_hold(limits, want_nusd, time.time())
        return True

    async def hold(self, limits: SpendingLimits, want_nusd: int) -> None:
        """Read the ledger, once however many calls want to know, then hold."""
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self._read())
            reading.add_done_callback(look_at)
        # Shielded: a caller that leaves must not take the answer away from the others.
        await asyncio.shield(reading)
        self.add_hold(limits, want_nusd, time.time())

    def invalidate(self) -> None:
        self._invalidations += 1
        super().invalidate()

    async def _read(self) -> None:
        try:
            while not self.is_read:
                invalidations = self._invalidations
                self.begin_reading()
                reading = await self._read_spent(self._key_id)
                if invalidations == self._invalidations:
                    self.read(reading)
        except BaseException:
            self.invalidate()
            raise
        finally:
            self._reading = None


def look_at(task: asyncio.Task[None]) -> None:
    """Retrieve a failure: asyncio logs one that nobody retrieved, as when all callers have left."""
    if not task.cancelled():
        task.exception()
