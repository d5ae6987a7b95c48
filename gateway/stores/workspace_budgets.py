"""Moving money between the budgets of one workspace and this process's parts of them.

A call needs a part of each of its budgets, so those of a workspace are asked about together, one
question at a time. The database says what this process has (gateway.stores.budget_client). Every
answer says all of it: a draw whose answer was lost is in the next one. Amounts are nano-USD.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from gateway.admission.spending import Spending
from gateway.core.errors import DatabaseUnavailable, GatewayError, KeyLimitExceeded
from gateway.core.spent import Reading
from gateway.snapshot.types import SpendingLimits
from gateway.stores.budget_client import Allotted, Ask, CallAsk, OwnerAsk, Settlement
from gateway.stores.budget_share import Refused, Share
from gateway.stores.purse_funding import ReservationTimeouts

Budgets = Sequence[SpendingLimits]


class Answer(NamedTuple):
    """posted: how many of this process's records were in the database by then."""

    settlement: Settlement
    posted: int


class Waiter:
    """A call that waits for its hold. deadline: until when for other processes; 0.0: they have
    not been asked."""

    __slots__ = ("budgets", "deadline", "granted", "want_nusd")

    def __init__(self, budgets: Budgets, want_nusd: int, granted: asyncio.Future[None]) -> None:
        self.budgets = budgets
        self.want_nusd = want_nusd
        self.granted = granted
        self.deadline = 0.0

    def serve(self, shares: Mapping[str, Share]) -> bool:
        """Hold in each share if all have enough. shares: by owner."""
        own = [shares[limits.owner.id] for limits in self.budgets]
        if any(share.free_nusd < self.want_nusd for share in own):
            return False
        for share in own:
            share.hold(self.want_nusd)
        self.granted.set_result(None)
        return True


class RecalledShares:
    """Those of which other processes need what is free here, for a while."""

    __slots__ = ("_by_owner",)

    def __init__(self) -> None:
        self._by_owner: dict[str, Share] = {}

    def __bool__(self) -> bool:
        return bool(self._by_owner)

    def add(self, share: Share, until: float) -> None:
        share.recalled_until = until
        self._by_owner[share.owner.id] = share

    def asks(self, now: float, asked: Collection[str] = ()) -> list[OwnerAsk]:
        """Return what to return. asked: owners that are asked about anyway."""
        for share in [one for one in self._by_owner.values() if now >= one.recalled_until]:
            del self._by_owner[share.owner.id]
        return [
            OwnerAsk(_limits(share), share.free_nusd)
            for owner_id, share in self._by_owner.items()
            if owner_id not in asked and share.free_nusd > 0
        ]


class WorkspaceBudgets:
    """ask: has the database settle. Raises DatabaseUnavailable.
    shares: of all workspaces, by owner; added to here."""

    def __init__(
        self,
        shares: dict[str, Share],
        ask: Callable[[Ask], Awaitable[Answer]],
        timeouts: ReservationTimeouts,
    ) -> None:
        self._shares = shares
        self._ask = ask
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._waiters: list[Waiter] = []
        self._recalled = RecalledShares()
        self._arrived = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        # Records, and what they charged whom, while the database is asked.
        self._charged: list[tuple[int, str, int]] | None = None
        self._invalidations = 0
        self._is_alone = False
        self._refill_after = 0.0

    @property
    def is_idle(self) -> bool:
        return self._work is None and not self._waiters

    async def hold(self, budgets: Budgets, want_nusd: int) -> None:
        """Draw from the budgets, then hold. Safe to cancel."""
        for limits in budgets:
            if limits.owner.id not in self._shares:
                self._shares[limits.owner.id] = Share(limits.owner)
        self._refuse_again(budgets, want_nusd)
        waiter = Waiter(budgets, want_nusd, self._loop.create_future())
        self._waiters.append(waiter)
        self._arrived.set()
        self._begin(self._serve_all)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            granted = waiter.granted
            if not granted.cancelled() and granted.done() and granted.exception() is None:
                self.release(budgets, want_nusd)
            raise

    def release(self, budgets: Budgets, hold_nusd: int) -> None:
        for limits in budgets:
            share = self._shares.get(limits.owner.id)
            if share is not None:  # one that held nothing may have been forgotten
                share.end_hold(hold_nusd)
        if self._recalled:
            self._return_recalled()

    def on_charge(self, owner_id: str, charge_nusd: int, record: int) -> None:
        """The charge has left the share."""
        if self._charged is not None:
            self._charged.append((record, owner_id, charge_nusd))

    def invalidate(self) -> None:
        self._invalidations += 1

    def on_recall(self, share: Share) -> None:
        """Another process needs money: return what no call holds, now and for a while."""
        self._recalled.add(share, self._loop.time() + self._timeouts.recall_s)
        self._refill_after = self._loop.time() + self._timeouts.refill_s
        self._arrived.set()
        self._return_recalled()

    def return_unneeded(self, amounts: Sequence[tuple[Share, int]]) -> None:
        """Return what was not needed. Where no other process serves nobody misses it."""
        if amounts and not self._is_alone and not self._waiters:
            self._begin(lambda: self._settle([OwnerAsk(_limits(s), n) for s, n in amounts]))

    def refill(self, share: Share) -> None:
        """Draw more in the background, so that later calls need not wait."""
        if self._work is not None or self._is_alone or self._loop.time() < self._refill_after:
            return
        self._refill_after = self._loop.time() + self._timeouts.refill_s
        self._begin(lambda: self._settle([OwnerAsk(_limits(share), extra_nusd=share.target_nusd)]))

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
            else:
                self._return_recalled()

    async def _serve_all(self) -> None:
        """Serve or refuse everybody who waits."""
        while waiting := self._waiting():
            self._arrived.clear()
            calls = [
                CallAsk(waiter.want_nusd, tuple(limits.owner.id for limits in waiter.budgets))
                for waiter in waiting
            ]
            # Others are asked once for each call.
            recalls = any(not waiter.deadline for waiter in waiting)
            settlement = await self._settle(self._asks_of(waiting), calls, recalls=recalls)
            for waiter, lacking in zip(waiting, settlement.lacking, strict=True):
                is_over = any(settlement.allotted[owner_id].is_over for owner_id in lacking)
                if not waiter.granted.done() and (is_over or not waiter.serve(self._shares)):
                    self._keep_or_refuse(waiter, lacking, settlement)
            if any(not waiter.granted.done() for waiter in waiting):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._arrived.wait(), self._timeouts.look_s)

    def _waiting(self) -> Sequence[Waiter]:
        """Return those who wait now: who comes while the database is asked is no part of it."""
        self._waiters = [waiter for waiter in self._waiters if not waiter.granted.done()]
        return tuple(self._waiters)

    def _asks_of(self, waiting: Sequence[Waiter]) -> list[OwnerAsk]:
        """Return what to ask of every budget that a call waits for. All that is free goes back
        first: two processes that each had a part of what one call needs would wait for each
        other."""
        largest: dict[str, int] = {}
        newest: dict[str, SpendingLimits] = {}
        for waiter in waiting:
            for limits in waiter.budgets:
                owner_id = limits.owner.id
                newest[owner_id] = limits
                largest[owner_id] = max(largest.get(owner_id, 0), waiter.want_nusd)
        asks = []
        for owner_id, limits in newest.items():
            share = self._shares[owner_id]
            extra_nusd = max(share.target_nusd, 2 * largest[owner_id])
            asks.append(OwnerAsk(limits, share.free_nusd, extra_nusd))
        return asks + self._recalled.asks(self._loop.time(), newest)

    async def _settle(
        self, asks: Sequence[OwnerAsk], calls: Sequence[CallAsk] = (), *, recalls: bool = False
    ) -> Settlement:
        """Ask once, or again when the ledger was replaced meanwhile."""
        owners = [
            one._replace(return_nusd=self._shares[one.limits.owner.id].take_free(one.return_nusd))
            for one in asks
        ]
        while True:
            invalidations, self._charged = self._invalidations, []
            ask = Ask(owners=tuple(owners), calls=tuple(calls), recalls=recalls)
            try:
                answer = await self._ask(ask)
            except BaseException:
                for one in owners:
                    self._shares[one.limits.owner.id].drawn_under = None
                raise
            finally:
                charged, self._charged = self._charged or [], None
            self._is_alone = answer.settlement.is_alone
            self._follow(answer, charged)
            if invalidations == self._invalidations:
                for one in owners:
                    share = self._shares[one.limits.owner.id]
                    if answer.settlement.allotted[one.limits.owner.id].is_over:
                        # What running calls leave over is no longer to be spent here.
                        share.drawn_under = None
                    elif calls:
                        share.drawn_under = one.limits
                        share.falls_at = one.limits.falls_at(answer.settlement.at)
                return answer.settlement
            owners = [one._replace(return_nusd=0) for one in owners]

    def _follow(self, answer: Answer, charged: Iterable[tuple[int, str, int]]) -> None:
        """Take over what the database says; charges that it does not know of yet come off."""
        for owner_id, allotted in answer.settlement.allotted.items():
            self._shares[owner_id].balance_nusd = allotted.amount_nusd
        for record, owner_id, charge_nusd in charged:
            if record > answer.posted and owner_id in answer.settlement.allotted:
                self._shares[owner_id].balance_nusd -= charge_nusd

    def _keep_or_refuse(
        self, waiter: Waiter, lacking: frozenset[str], settlement: Settlement
    ) -> None:
        """Let a call wait for what others have of the budgets that it lacks, or refuse it."""
        now = self._loop.time()
        allotted = settlement.allotted
        if not waiter.deadline:
            waiter.deadline = now + self._timeouts.recall_s
        may_come = all(
            allotted[owner_id].elsewhere_nusd or self._shares[owner_id].free_nusd > 0
            for owner_id in lacking
        )
        if may_come and now < waiter.deadline:
            return
        error: GatewayError | None = None
        for limits in waiter.budgets:
            owner_id = limits.owner.id
            if owner_id not in lacking:
                continue
            error = error or _find_refusal(
                allotted[owner_id], limits, waiter.want_nusd, settlement.at
            )
            if not allotted[owner_id].elsewhere_nusd:  # from there some may come at any time
                until = now + self._timeouts.empty_s
                self._shares[owner_id].refuse(
                    Refused(limits, waiter.want_nusd, allotted[owner_id], settlement.at, until)
                )
        # A day ended just now, or a charge was higher than what the call had held.
        waiter.granted.set_exception(error or DatabaseUnavailable(retry_after_s=1))

    def _refuse_again(self, budgets: Budgets, want_nusd: int) -> None:
        """Raise what the database has just said, without asking it again."""
        now = self._loop.time()
        for limits in budgets:
            share = self._shares[limits.owner.id]
            known = share.known_refusal(limits, want_nusd, now)
            if known is not None and (
                error := _find_refusal(known.allotted, limits, want_nusd, known.at)
            ):
                raise error

    def _fail_waiters(self, error: Exception) -> None:
        for waiter in self._waiting():
            waiter.granted.set_exception(error)
        self._waiters = []

    def _return_recalled(self) -> None:
        """Return what is free of shares that others need; who waits does so anyway."""
        if self._work is None and (asks := self._recalled.asks(self._loop.time())):
            self._begin(lambda: self._settle(asks))


def _limits(share: Share) -> SpendingLimits:
    return share.drawn_under or SpendingLimits(share.owner)


def _find_refusal(
    allotted: Allotted, limits: SpendingLimits, want_nusd: int, at: float
) -> KeyLimitExceeded | None:
    spending = Spending()
    spending.read(Reading(allotted.spent, at, 0, limits.timezone))
    # Also what is free in other processes and did not come back in time.
    spending.held_nusd = allotted.amount_nusd + allotted.elsewhere_nusd
    return spending.find_refusal(limits, want_nusd, time.time())
