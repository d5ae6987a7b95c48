"""Credits as the hot path uses them: in memory, on the event loop, never waiting for the database.

A call's credits:

    granted_nusd = want if credits.try_hold(ws, want) else await credits.hold(ws, want_nusd=want,
                                                                             least_nusd=least)
    records.admitted(Admitted(...))          # before any byte goes upstream
    ...
    paid_nusd = credits.release(ws, granted_nusd, charge_nusd)
    records.settled(Settled(...))            # right after, nothing awaited in between

`records` is a gateway.stores.record_log.RecordLog. A call that took a hold and is not admitted
after all only releases it, with charge 0. A call that holds nothing (a free model) takes no hold
and releases none.

A purse is the part of a workspace's wallet that this process may spend without asking again
(gateway.stores.purse). Workspace ids are UUID text; amounts are nano-USD. All methods are for the
event loop's thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

from gateway.core.errors import DatabaseUnavailable, InsufficientCredits
from gateway.stores.account import Account, Waiter
from gateway.stores.purse_funding import PurseFunding, ReservationTimeouts
from gateway.stores.wallet_client import Answer
from gateway.stores.writer_inbox import WriterInbox


class PurseSums(NamedTuple):
    """held_nusd is a part of total_nusd."""

    purses: int
    total_nusd: int
    held_nusd: int


class CreditReserver:
    """The purses of one process, and what its running calls hold of them."""

    def __init__(self, inbox: WriterInbox, timeouts: ReservationTimeouts | None = None) -> None:
        self._timeouts = timeouts or ReservationTimeouts()
        self._accounts: dict[str, Account] = {}
        self._holds = 0
        self._inbox = inbox
        self._funding = PurseFunding(self._accounts, inbox, self._timeouts)
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop
        self.is_fenced = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin, once the writer has. loop: the one that will ask for holds."""
        self._loop = loop
        self._funding.start(loop)

    def close(self) -> None:
        """Take no more holds. Calls that run may still be settled."""
        self._stopping = True
        self._funding.close()
        self._fail_waiters(DatabaseUnavailable("The server is stopping."))

    # Holds

    def try_hold(self, workspace_id: str, want_nusd: int) -> bool:
        """Set money aside if this process's purse covers it. Never waits."""
        account = self._accounts.get(workspace_id)
        if account is None or not account.purse.hold(want_nusd):
            return False
        self._holds += 1
        purse = account.purse
        if purse.balance_nusd - purse.held_nusd < purse.refill_below_nusd and not account.drawing:
            self._funding.refill(workspace_id, account)
        return True

    async def hold(
        self, workspace_id: str, *, want_nusd: int, least_nusd: int, only_asks: bool = False
    ) -> int:
        """Set aside between least_nusd and want_nusd, less than wanted only when no more is there.

        Draws from the wallet, and calls back what other processes have idle, when the purse does
        not cover it. Safe to cancel: what was set aside is then free again.
        Raises InsufficientCredits when the balance, less what running calls hold, is below
        least_nusd; DatabaseUnavailable when that cannot be found out within 2 s.
        only_asks: nothing is set aside.
        """
        if not only_asks and self.try_hold(workspace_id, want_nusd):
            return want_nusd
        if self.is_fenced or self._stopping:
            raise DatabaseUnavailable(retry_after_s=1)
        account = self._accounts.setdefault(workspace_id, Account())
        waiter = Waiter(want_nusd, least_nusd, self._loop.create_future(), only_asks)
        if only_asks and waiter.hold(account.purse, want_nusd):
            return want_nusd
        if self._loop.time() < account.empty_until and account.is_known_to_lack(least_nusd):
            return self._grant_rest(account, waiter)
        if not account.waiting():
            account.recall_until = 0.0  # a recall for callers who have left is not this one's
        account.waiters.append(waiter)
        if not account.drawing:
            self._funding.draw(workspace_id, account)
        timer = self._loop.call_later(self._timeouts.database_s, _give_up, waiter)
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.done() and not waiter.granted.cancelled() and not only_asks:
                with suppress(Exception):
                    self.release(workspace_id, waiter.granted.result(), 0)
            raise
        finally:
            timer.cancel()

    def release(self, workspace_id: str, hold_nusd: int, charge_nusd: int) -> int:
        """End a hold; return how much of the charge the purse has paid, for good.

        That is all of it up to hold_nusd; beyond, as far as money is free. What is missing is
        drawn from the wallet when the call's record is posted (gateway.stores.shortfall).
        """
        self._holds -= 1
        account = self._accounts.get(workspace_id)
        if account is None or self.is_fenced:
            if self.may_rejoin:
                self._inbox.wake()
            return min(charge_nusd, hold_nusd)
        paid_nusd = account.purse.release(hold_nusd, charge_nusd)
        if account.empty_until:
            account.empty_until = 0.0
        return paid_nusd

    def held_nusd(self, workspace_id: str) -> int:
        """Return what running calls of this process hold."""
        account = self._accounts.get(workspace_id)
        return account.purse.held_nusd if account else 0

    def sum_purses(self) -> PurseSums:
        """Return what all purses of this process hold. For any thread."""
        purses = [account.purse for account in list(self._accounts.values())]
        return PurseSums(
            purses=sum(not purse.is_empty for purse in purses),
            total_nusd=sum(purse.balance_nusd for purse in purses),
            held_nusd=sum(purse.held_nusd for purse in purses),
        )

    # News from the change feed

    def on_wallet_changed(self, workspace_id: str) -> None:
        """There may be more in the wallet than this process last saw."""
        account = self._accounts.get(workspace_id)
        if account is None:
            return
        account.empty_until = 0.0
        account.refill_after = 0.0
        if account.waiters and not account.drawing:
            self._funding.draw(workspace_id, account)

    def on_recall(self, workspace_id: str) -> None:
        """Another process needs money: return what no call holds."""
        account = self._accounts.get(workspace_id)
        if account is not None:
            now = self._loop.time()
            account.recalled_until = now + self._timeouts.recall_s
            account.refill_after = now + self._timeouts.refill_s
            self._funding.follow_recall(workspace_id, account)

    # The writer's answers, on the loop

    def on_drawn(self, answer: Answer) -> None:
        """A draw came back; serve those who wait, in the order they came."""
        account = self._accounts.setdefault(answer.workspace_id, Account())
        if answer.asked is account.drawing:
            account.drawing = None
        account.purse.add(answer.gained_nusd)
        needed = account.needed_draw(answer.workspace_id)
        if account.drawing is not None:
            pass  # the answer to another question; those who wait get theirs
        elif not answer.has_more and needed.exceeds(answer.asked):
            # Calls that came meanwhile want what was not asked for.
            self._funding.draw(answer.workspace_id, account)
        else:
            self._serve(answer, account)
        account.waiters = account.waiting()
        if account.recalled_until:
            self._funding.follow_recall(answer.workspace_id, account)

    def on_draw_failed(self, workspace_id: str) -> None:
        """The database did not answer."""
        account = self._accounts.setdefault(workspace_id, Account())
        account.drawing = None
        account.recall_until = 0.0
        account.refill_after = self._loop.time() + self._timeouts.refill_s
        for waiter in account.waiting():
            if waiter.hold(account.purse, waiter.want_nusd):
                self._grant(waiter)
            else:
                waiter.granted.set_exception(DatabaseUnavailable(retry_after_s=1))
        account.waiters.clear()

    def on_fenced(self) -> None:
        """Another process has ended this one in the database. Nothing it holds is its own."""
        self.is_fenced = True
        self._fail_waiters(DatabaseUnavailable(retry_after_s=1))
        self._accounts.clear()

    def on_rejoined(self) -> None:
        """This process has a row and empty purses again."""
        self.is_fenced = False

    @property
    def may_rejoin(self) -> bool:
        """True when no call of the former session runs any more."""
        return self.is_fenced and self._holds == 0 and not self._stopping

    def _serve(self, answer: Answer, account: Account) -> None:
        now = self._loop.time()
        waiting = list(account.waiting())
        if not waiting:
            if account.purse.free_nusd < account.purse.refill_below_nusd:
                account.refill_after = now + self._timeouts.refill_s
            return
        may_come_back = not answer.has_more and answer.elsewhere_nusd
        if may_come_back and self._funding.call_back(answer, account):
            return
        for waiter in waiting:
            if waiter.hold(account.purse, waiter.want_nusd):
                self._grant(waiter)
            elif answer.has_more:
                self._funding.draw(answer.workspace_id, account)
                return
            else:
                self._grant_or_refuse(account, waiter)
        account.recall_until = 0.0
        if not answer.has_more:
            account.empty_until = now + self._timeouts.empty_s
            account.refused_nusd = 0 if answer.gained_nusd > 0 else answer.asked.least_nusd
            account.refill_after = now + self._timeouts.refill_s

    def _grant(self, waiter: Waiter) -> None:
        """Hand a waiter what it wants, which the purse has just held for it."""
        self._holds += not waiter.only_asks
        waiter.granted.set_result(waiter.want_nusd)

    def _grant_or_refuse(self, account: Account, waiter: Waiter) -> None:
        try:
            waiter.granted.set_result(self._grant_rest(account, waiter))
        except InsufficientCredits as refusal:
            waiter.granted.set_exception(refusal)

    def _grant_rest(self, account: Account, waiter: Waiter) -> int:
        """Hold what is left in the purse; raises InsufficientCredits when that is too little."""
        amount_nusd = min(waiter.want_nusd, account.purse.free_nusd)
        if amount_nusd < max(waiter.least_nusd, 1):
            raise InsufficientCredits
        waiter.hold(account.purse, amount_nusd)
        self._holds += not waiter.only_asks
        return amount_nusd

    def _fail_waiters(self, error: Exception) -> None:
        for account in self._accounts.values():
            for waiter in account.waiting():
                waiter.granted.set_exception(error)
            account.waiters.clear()


def _give_up(waiter: Waiter) -> None:
    if not waiter.granted.done():
        waiter.granted.set_exception(DatabaseUnavailable(retry_after_s=1))
