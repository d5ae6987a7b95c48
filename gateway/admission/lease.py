"""What one call has taken of its limits, until it is over."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gateway.admission.counter_protocols import (
    ConcurrencyCounter,
    Correction,
    Counters,
    RateCounter,
    SpendingCounter,
)
from gateway.admission.limit_rules import NOTHING, Amounts, Reservation, used_by
from gateway.core.receipt import Receipt
from gateway.snapshot.types import SpendingLimits


class Lease:
    """queued_us: how long the call waited in queues."""

    __slots__ = (
        "_acquired",
        "_budgets",
        "_counters",
        "_hold_nusd",
        "_rates",
        "_reserved",
        "_spending",
        "queued_us",
    )

    def __init__(self, counters: Counters) -> None:
        self.queued_us = 0
        self._counters = counters
        self._rates: list[RateCounter] = []
        self._reserved: list[Reservation] = []
        self._acquired: list[ConcurrencyCounter] = []
        self._spending: SpendingCounter | None = None
        self._budgets: Sequence[SpendingLimits] = ()
        self._hold_nusd = 0

    def held(
        self, spending: SpendingCounter, budgets: Sequence[SpendingLimits], hold_nusd: int
    ) -> None:
        self._spending, self._budgets, self._hold_nusd = spending, budgets, hold_nusd

    async def grow(self, nusd: int) -> None:
        """Hold so much more. Raises KeyLimitExceeded, DatabaseUnavailable."""
        spending = self._spending
        if spending is None:
            return
        if not spending.try_hold(self._budgets, nusd):
            await spending.hold(self._budgets, nusd)
        self._hold_nusd += nusd

    def counted(self, counted: RateCounter | Reservation) -> None:
        if isinstance(counted, Reservation):
            self._reserved.append(counted)
        else:
            self._rates.append(counted)

    def acquired(self, limiter: ConcurrencyCounter) -> None:
        self._acquired.append(limiter)

    def has(self, limiter: ConcurrencyCounter) -> bool:
        return limiter in self._acquired

    def settle(self, receipt: Receipt) -> None:
        """End the hold, and count what was used instead of what was reserved."""
        self._release()
        if self._reserved:
            self._correct(used_by(receipt))

    def end(self) -> None:
        """Give everything back but the request, which was made, and what is reserved: that is
        corrected when it is known what was used. Again it does nothing."""
        self._release()
        while self._acquired:
            self._acquired.pop().release()

    def withdraw(self) -> None:
        """Give everything back: the call was not let in after all."""
        now_ns = time.monotonic_ns()
        while self._rates:
            self._rates.pop().give_back(now_ns)
        if self._reserved:
            self._correct(NOTHING)
        self.end()

    def _release(self) -> None:
        if self._spending is not None:
            self._spending.release(self._budgets, self._hold_nusd)
            self._spending = None

    def _correct(self, used: Amounts) -> None:
        reserved, self._reserved = self._reserved, []
        corrections = [
            Correction(one, delta)
            for one in reserved
            if (delta := used.of(one.state.rule.metric) - one.amount)
        ]
        if corrections:
            self._counters.correct(corrections)
