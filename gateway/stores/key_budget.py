"""What one key may spend in this process (SpendingCounter). Amounts are nano-USD.

The database says what this process has (gateway.stores.key_budget_client). Every answer says all of
it: a draw whose answer was lost is in the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from gateway.admission.spending import Spending
from gateway.core.errors import DatabaseUnavailable, GatewayError, KeyLimitExceeded
from gateway.core.spent import Reading
from gateway.snapshot.types import SpendingLimits
from gateway.stores.key_budget_client import Allotted, Ask
from gateway.stores.purse import Purse
from gateway.stores.purse_funding import ReservationTimeouts


class Answer(NamedTuple):
    """posted: how many of this process's records were in the database by then."""

    allotted: Allotted
    posted: int


class Waiter(NamedTuple):
    """A call that waits for its hold."""

    limits: SpendingLimits
    want_nusd: int
    granted: asyncio.Future[None]


class Allotment(Purse):
    """This process's part of a budget. What a charge takes beyond its hold is missing from now
    on."""

    __slots__ = ()

    @property
    def is_empty(self) -> bool:
        return not (self.balance_nusd or self.held_nusd)  # a call may hold twice and end once

    def charge(self, charge_nusd: int) -> None:
        self.balance_nusd -= charge_nusd
        self._spent_nusd += charge_nusd

    def end_hold(self, hold_nusd: int) -> None:
        self.held_nusd -= hold_nusd
        self.holds -= 1


class KeyBudget:
    """ask: has the database settle. Raises DatabaseUnavailable."""

    def __init__(
        self,
        key_id: str,
        ask: Callable[[Ask], Awaitable[Answer]],
        timeouts: ReservationTimeouts,
    ) -> None:
        self._key_id = key_id
        self._ask = ask
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._allotment = Allotment()
        # Those that it was drawn under; None: the database has to be asked first.
        self._limits: SpendingLimits | None = None
        self._waiters: list[Waiter] = []
        self._work: asyncio.Task[None] | None = None
        # Records and what they charge, while the database is asked.
        self._charged: list[tuple[int, int]] | None = None
        self._invalidations = 0
        self._is_alone = False
        self._recalled_until = 0.0
        self._refill_after = 0.0
        self._refused: Allotted | None = None
        self._refused_nusd = 0
        self._refused_until = 0.0

    # What makes it a SpendingCounter of gateway.admission.counter_protocols

    @property
    def is_idle(self) -> bool:
        return self._work is None and self._allotment.is_empty

    def try_hold(self, limits: SpendingLimits, want_nusd: int) -> bool:
        allotment = self._allotment
        if limits != self._limits or not allotment.hold(want_nusd):
            return False
        if allotment.free_nusd < allotment.refill_below_nusd:
            self._refill()
        return True

    async def hold(self, limits: SpendingLimits, want_nusd: int) -> None:
        """Draw from the budget, then hold. Safe to cancel."""
        self._refuse_again(limits, want_nusd)
        waiter = Waiter(limits, want_nusd, self._loop.create_future())
        self._waiters.append(waiter)
        self._begin(self._serve_all)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            granted = waiter.granted
            if not granted.cancelled() and granted.done() and granted.exception() is None:
                self.release(want_nusd)
            raise

    def release(self, hold_nusd: int) -> None:
        self._allotment.end_hold(hold_nusd)
        self._refused = None
        if self._recalled_until and not self._waiters:
            self._return_free()

    def charge(self, charge_nusd: int, at: float, record: int) -> None:
        self._allotment.charge(charge_nusd)
        if self._charged is not None:
            self._charged.append((record, charge_nusd))

    def invalidate(self) -> None:
        self._invalidations += 1
        self._limits = None

    # What gateway.stores.key_budgets tells it

    def on_recall(self) -> None:
        """Another process needs money: return what no call holds, now and for a while."""
        self._recalled_until = self._loop.time() + self._timeouts.recall_s
        self._refill_after = self._loop.time() + self._timeouts.refill_s
        if not self._waiters:
            self._return_free()

    def turn_window(self) -> None:
        """Return what was not needed. Where no other process serves nobody misses it."""
        unneeded_nusd = self._allotment.turn_window()
        if unneeded_nusd > 0 and not self._is_alone and not self._waiters:
            self._begin(lambda: self._settle((), return_nusd=unneeded_nusd))

    # Asking the database, one question at a time

    def _begin(self, work: Callable[[], Awaitable[object]]) -> None:
        if self._work is None:
            self._work = asyncio.ensure_future(self._run(work))

    async def _run(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except GatewayError as error:
            self._fail_waiters(error)
        except BaseException:
            self._fail_waiters(DatabaseUnavailable(retry_after_s=1))
            raise
        finally:
            self._work = None
            if self._waiting():
                self._begin(self._serve_all)

    async def _serve_all(self) -> None:
        """Serve or refuse everybody who waits."""
        deadline = 0.0
        while waiting := self._waiting():
            allotted = await self._settle(waiting, recalls=not deadline)
            unserved = [waiter for waiter in waiting if not self._serve(waiter)]
            if not unserved:
                continue
            now = self._loop.time()
            if allotted.elsewhere_nusd and not deadline:
                deadline = now + self._timeouts.recall_s
            if now < deadline:
                await asyncio.sleep(self._timeouts.look_s)
            else:
                self._refuse(unserved, allotted)
                deadline = 0.0
        self._waiters = []

    def _waiting(self) -> Sequence[Waiter]:
        """Return those who wait now: who comes while the database is asked is no part of it."""
        self._waiters = [waiter for waiter in self._waiters if not waiter.granted.done()]
        return tuple(self._waiters)

    def _serve(self, waiter: Waiter) -> bool:
        if not waiter.granted.done():
            if not self._allotment.hold(waiter.want_nusd):
                return False
            waiter.granted.set_result(None)
        return True

    async def _settle(
        self,
        waiting: Sequence[Waiter],
        *,
        return_nusd: int = 0,
        ahead_nusd: int = 0,
        recalls: bool = False,
    ) -> Allotted:
        """Ask once, or again when the ledger was replaced meanwhile. With those who wait all that
        is free goes back first: two processes that each had a part of what one call needs would
        wait for each other."""
        allotment = self._allotment
        limits = waiting[-1].limits if waiting else self._limits
        if limits is None:
            limits = SpendingLimits(None, None, None)
        wants_nusd = [waiter.want_nusd for waiter in waiting]
        extra_nusd = ahead_nusd
        if waiting:
            extra_nusd = max(allotment.target_nusd, 2 * max(wants_nusd))
        returned_nusd = allotment.take_free(allotment.free_nusd if waiting else return_nusd)
        while True:
            invalidations, self._charged = self._invalidations, []
            answer = await self._ask(
                Ask(
                    key_id=self._key_id,
                    limits=limits,
                    return_nusd=returned_nusd,
                    least_nusd=max(min(wants_nusd, default=0), 1) if extra_nusd else 0,
                    need_nusd=sum(wants_nusd),
                    extra_nusd=extra_nusd,
                    recalls=recalls,
                )
            )
            charged, self._charged = self._charged, None
            allotted = answer.allotted
            allotment.balance_nusd = allotted.amount_nusd - sum(
                charge_nusd for record, charge_nusd in charged if record > answer.posted
            )
            self._is_alone = allotted.is_alone
            if invalidations == self._invalidations:
                self._limits = limits if waiting or self._limits else None
                return allotted
            returned_nusd = 0

    def _refuse(self, waiters: Sequence[Waiter], allotted: Allotted) -> None:
        """Nothing more can be had of the budget."""
        if not allotted.elsewhere_nusd:  # from there some may come back at any time
            self._refused = allotted
            self._refused_until = self._loop.time() + self._timeouts.empty_s
            self._refused_nusd = min(waiter.want_nusd for waiter in waiters)
        for waiter in waiters:
            if not waiter.granted.done():
                waiter.granted.set_exception(_refusal(allotted, waiter.limits, waiter.want_nusd))

    def _refuse_again(self, limits: SpendingLimits, want_nusd: int) -> None:
        """Raise what the database has just said, without asking it again."""
        known = self._refused
        if known is None or limits != self._limits or want_nusd < self._refused_nusd:
            return
        if self._loop.time() < self._refused_until:
            raise _refusal(known, limits, want_nusd)

    def _fail_waiters(self, error: Exception) -> None:
        self._charged = None
        self._limits = None
        for waiter in self._waiting():
            waiter.granted.set_exception(error)
        self._waiters = []

    def _return_free(self) -> None:
        if self._loop.time() >= self._recalled_until:
            self._recalled_until = 0.0
        elif self._allotment.free_nusd > 0:
            self._begin(lambda: self._settle((), return_nusd=self._allotment.free_nusd))

    def _refill(self) -> None:
        """Draw more in the background, so that later calls need not wait."""
        if self._work is not None or self._is_alone or self._loop.time() < self._refill_after:
            return
        self._refill_after = self._loop.time() + self._timeouts.refill_s
        self._begin(lambda: self._settle((), ahead_nusd=self._allotment.target_nusd))


def _refusal(allotted: Allotted, limits: SpendingLimits, want_nusd: int) -> GatewayError:
    spending = Spending()
    spending.read(Reading(allotted.spent, allotted.at, 0))
    # Also what is free in other processes and did not come back in time.
    spending.held_nusd = allotted.amount_nusd + allotted.elsewhere_nusd
    try:
        spending.add_hold(limits, want_nusd, time.time())
    except KeyLimitExceeded as error:
        return error
    # A day ended just now, or the budget changed too often to draw from it.
    return DatabaseUnavailable(retry_after_s=1)
