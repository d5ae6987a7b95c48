"""Spending of budgets counted in this process's memory, read from the ledger once per owner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import islice

from gateway.admission.counter_protocols import ReadSpent
from gateway.admission.spending import Spending
from gateway.snapshot.types import SpendingLimits

MAX_KEPT = 100_000
LOOKED_AT = 64


class MemorySpending(Spending):
    """One owner's."""

    __slots__ = ("_invalidations", "_read_spent", "_reading")

    def __init__(self, read_spent: ReadSpent) -> None:
        super().__init__()
        self._read_spent = read_spent
        self._reading: asyncio.Task[None] | None = None
        self._invalidations = 0

    @property
    def is_idle(self) -> bool:
        """True when forgetting it costs a reading and nothing else."""
        return self.is_read and not self.held_nusd

    def invalidate(self) -> None:
        self._invalidations += 1
        super().invalidate()

    async def read_ledger(self, limits: SpendingLimits) -> None:
        """Read the ledger, once however many calls want to know."""
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self._read(limits))
            reading.add_done_callback(_look_at)
        # Shielded: a caller that leaves must not take the answer away from the others.
        await asyncio.shield(reading)

    async def _read(self, limits: SpendingLimits) -> None:
        try:
            self.is_read = False
            while not self.is_read:
                invalidations = self._invalidations
                self.begin_reading()
                reading = await self._read_spent(limits)
                if invalidations == self._invalidations:
                    self.read(reading)
        except BaseException:
            self.invalidate()
            raise
        finally:
            self._reading = None


class MemorySpendings:
    """Those of all owners (SpendingCounter)."""

    def __init__(self, read_spent: ReadSpent) -> None:
        self._read_spent = read_spent
        self._by_owner: dict[str, MemorySpending] = {}

    @property
    def is_counting(self) -> bool:
        return bool(self._by_owner)

    def of(self, owner: str) -> MemorySpending | None:
        return self._by_owner.get(owner)

    def try_hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> bool:
        spendings: list[MemorySpending] = []
        for limits in budgets:
            spending = self._by_owner.get(limits.owner.id)
            if spending is None or not spending.is_read or spending.timezone != limits.timezone:
                return False
            spendings.append(spending)
        now = time.time()
        for limits, spending in zip(budgets, spendings, strict=True):
            if refusal := spending.find_refusal(limits, want_nusd, now):
                raise refusal
        for spending in spendings:
            spending.hold(want_nusd)
        return True

    async def hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> None:
        while not self.try_hold(budgets, want_nusd):
            readings = []
            for limits in budgets:
                spending = self._make(limits.owner.id)
                if not spending.is_read or spending.timezone != limits.timezone:
                    readings.append(spending.read_ledger(limits))
            await asyncio.gather(*readings)

    def release(self, budgets: Sequence[SpendingLimits], hold_nusd: int) -> None:
        for limits in budgets:
            spending = self._by_owner.get(limits.owner.id)
            if spending is not None:  # one that held nothing may have been forgotten
                spending.release(hold_nusd)

    def charge(self, owners: Sequence[str], charge_nusd: int, at: float, record: int) -> None:
        for owner in owners:
            spending = self._by_owner.get(owner)
            if spending is not None:
                spending.charge(charge_nusd, at, record)

    def invalidate(self, owner_id: str = "") -> None:
        for name, spending in self._by_owner.items():
            if not owner_id or name == owner_id:
                spending.invalidate()

    def _make(self, owner: str) -> MemorySpending:
        spending = self._by_owner.get(owner)
        if spending is None:
            if len(self._by_owner) >= MAX_KEPT:
                self._forget_one()
            spending = self._by_owner[owner] = MemorySpending(self._read_spent)
        return spending

    def _forget_one(self) -> None:
        """Forget the oldest of a few that have nothing to remember."""
        for owner in list(islice(self._by_owner, LOOKED_AT)):
            if self._by_owner[owner].is_idle:
                del self._by_owner[owner]
                return


def _look_at(task: asyncio.Task[None]) -> None:
    """Retrieve a failure: asyncio logs one that nobody retrieved, as when all callers have left."""
    if not task.cancelled():
        task.exception()
