"""Money and records as the hot path uses them: in memory, on the event loop, never waiting.

A call's life at the bank:

    granted_nusd = want if bank.try_hold(ws, want) else await bank.hold(ws, want_nusd=want,
                                                                       least_nusd=least)
    bank.admitted(Admitted(...))             # before any byte goes upstream
    ...
    paid_nusd = bank.release(ws, granted_nusd, charge_nusd)
    bank.settled(Settled(...))               # right after, nothing awaited in between

A call that took a hold and is not admitted after all only releases it, with charge 0. A call
that holds nothing (a free model) takes no hold and releases none. Refusals: bank.refused(...).

Everything slow is done by one thread (stores.writer). Workspace ids are UUID text; amounts are
nano-USD. All methods are for the event loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gateway.core.errors import (
    DatabaseUnavailable,
    InsufficientCredits,
    StorageUnavailable,
)
from gateway.journal.record import Admitted, Refused, Settled
from gateway.stores.account import Account, Waiter
from gateway.stores.wallet_client import Answer, GiveBack
from gateway.stores.writer import Writer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReservationTimeouts:
    """How long the bank waits for each step of a reservation, in seconds."""

    database_s: float = 2.0  # hold() gives up on the database
    recall_s: float = 0.5  # for money that other processes have idle
    look_s: float = 0.1  # between two looks for such money
    empty_s: float = 0.25  # an empty wallet is believed to be empty
    refill_s: float = 1.0  # between two refills that brought too little
    window_s: float = 5.0  # spending is measured over two of these; idle money goes back


class Bank:
    """One process's money. start() before use, stop() at the end."""

    def __init__(
        self,
        journal_home: Path,
        *,
        timeouts: ReservationTimeouts | None = None,
        writer: Writer | None = None,
    ) -> None:
        """journal_home: the folder that gets a folder per process (HOME / "journal")."""
        self._timeouts = timeouts or ReservationTimeouts()
        self._accounts: dict[str, Account] = {}
        self._open: set[str] = set()
        self._holds = 0
        self._writer = writer or Writer(journal_home)
        self._stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop
        self.is_fenced = False
        self.late_settles = 0
        # For whoever counts on from what the ledger said: it says something else now.
        self.on_ledger_replaced: Callable[[], None] | None = None

    @property
    def process_id(self) -> str:
        """Id of this process's row, as UUID text. Known once started."""
        return str(self._writer.process_id)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Enter this process in the database, settle what dead ones left here, start the thread.

        Blocking: run it before serving, or in a thread. loop: the one that will call the bank.
        Raises DatabaseError or OSError when this process cannot be entered.
        """
        self._loop = loop
        self._writer.start(self)
        loop.call_soon_threadsafe(self._tick)

    async def stop(self) -> None:
        """Post everything, return all purses, leave the database. No call may be running.

        When the database does not answer within 10 s the journal is left for the reaper.
        """
        self.close()
        await asyncio.to_thread(self._writer.stop)

    def close(self) -> None:
        """Take no more holds. Calls that run may still be settled."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
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
            self._refill(workspace_id, account)
        return True

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int:
        """Set aside between least_nusd and want_nusd, less than wanted only when no more is there.

        Draws from the wallet, and calls back what other processes have idle, when the purse does
        not cover it. Safe to cancel: what was set aside is then free again.
        Raises InsufficientCredits when the balance, less what running calls hold, is below
        least_nusd; DatabaseUnavailable when that cannot be found out within 2 s.
        """
        if self.try_hold(workspace_id, want_nusd):
            return want_nusd
        if self.is_fenced or self._stopping:
            raise DatabaseUnavailable(retry_after_s=1)
        account = self._accounts.setdefault(workspace_id, Account())
        if self._loop.time() < account.empty_until and account.is_known_to_lack(least_nusd):
            return self._grant_rest(account, want_nusd, least_nusd)
        waiter = Waiter(want_nusd, least_nusd, self._loop.create_future())
        if not account.waiting():
            account.recall_until = 0.0  # a recall for callers who have left is not this one's
        account.waiters.append(waiter)
        if not account.drawing:
            self._draw(workspace_id, account)
        timer = self._loop.call_later(self._timeouts.database_s, _give_up, waiter)
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.done() and not waiter.granted.cancelled():
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
                self._writer.wake()
            return min(charge_nusd, hold_nusd)
        paid_nusd = account.purse.release(hold_nusd, charge_nusd)
        if account.empty_until:
            account.empty_until = 0.0
        return paid_nusd

    def held_nusd(self, workspace_id: str) -> int:
        """Return what running calls of this process hold."""
        account = self._accounts.get(workspace_id)
        return account.purse.held_nusd if account else 0

    # Records

    def admitted(self, record: Admitted) -> None:
        """Write down that a call begins, before any byte of it goes upstream.

        Raises StorageUnavailable when the journal cannot be written, DatabaseUnavailable when
        this process has been declared dead, or may have been; then the call must not be made.
        """
        if self.is_fenced or self._writer.is_in_doubt(record.at):
            raise self._writer.outage or DatabaseUnavailable(retry_after_s=1)
        try:
            self._writer.append(record)
        except OSError as error:
            raise StorageUnavailable(detail=str(error), retry_after_s=5) from error
        self._open.add(record.call_id)

    def settled(self, record: Settled) -> None:
        """Write down how a call ended. Never raises; the second end of a call is dropped."""
        if record.call_id not in self._open:
            self.late_settles += 1
            log.warning("late settle of call %s dropped", record.call_id)
            return
        self._open.discard(record.call_id)
        self._writer.append_surely(record)

    def refused(self, record: Refused) -> None:
        """Write down a call of a known key that was not let in. Never raises."""
        if not self.is_fenced:
            self._writer.append_refusal(record)

    # News from the change feed

    def on_wallet_changed(self, workspace_id: str) -> None:
        """There may be more in the wallet than this process last saw."""
        account = self._accounts.get(workspace_id)
        if account is None:
            return
        account.empty_until = 0.0
        account.refill_after = 0.0
        if account.waiters and not account.drawing:
            self._draw(workspace_id, account)

    def on_recall(self, workspace_id: str) -> None:
        """Another process needs money: return what no call holds."""
        account = self._accounts.get(workspace_id)
        if account is not None:
            now = self._loop.time()
            account.recalled_until = now + self._timeouts.recall_s
            account.refill_after = now + self._timeouts.refill_s
            self._heed_recall(workspace_id, account)

    # The writer's answers, on the loop

    def deliver(self, answer: Callable[[], None]) -> None:
        """Run the writer's answer on the loop. The one method for the writer's thread."""
        # A loop that has ended has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(answer)

    def on_drawn(self, answer: Answer) -> None:
        """A draw came back; serve those who wait, in the order they came."""
        account = self._accounts.setdefault(answer.workspace_id, Account())
        if answer.asked is account.drawing:
            account.drawing = None
        account.purse.add(answer.gained_nusd)
        wish = account.wish(answer.workspace_id)
        if account.drawing is not None:
            pass  # the answer to another question; those who wait get theirs
        elif not answer.has_more and wish.exceeds(answer.asked):
            # Calls that came meanwhile want what was not asked for.
            self._draw(answer.workspace_id, account)
        else:
            self._serve(answer, account)
        account.waiters = account.waiting()
        if account.recalled_until:
            self._heed_recall(answer.workspace_id, account)

    def on_draw_failed(self, workspace_id: str) -> None:
        """The database did not answer."""
        account = self._accounts.setdefault(workspace_id, Account())
        account.drawing = None
        account.recall_until = 0.0
        account.refill_after = self._loop.time() + self._timeouts.refill_s
        for waiter in account.waiting():
            if account.purse.hold(waiter.want_nusd):
                self._grant(waiter, waiter.want_nusd)
            else:
                waiter.granted.set_exception(DatabaseUnavailable(retry_after_s=1))
        account.waiters.clear()

    def on_fenced(self) -> None:
        """Another process has ended this one in the ledger. Nothing it holds is its own any more.

        When the last running call has ended, the process enters again under a new id.
        """
        self.is_fenced = True
        self._fail_waiters(DatabaseUnavailable(retry_after_s=1))
        self._accounts.clear()
        self._open.clear()
        self._writer.wake()

    def on_rejoined(self) -> None:
        """This process has a row, a journal and empty purses again."""
        self.is_fenced = False
        self.on_reaped()

    def on_reaped(self) -> None:
        """The ledger has got what another process, or a former session of this one, left behind."""
        if self.on_ledger_replaced is not None:
            self.on_ledger_replaced()

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
        if not answer.has_more and answer.elsewhere_nusd and self._recall(answer, account, now):
            return
        for waiter in waiting:
            if account.purse.hold(waiter.want_nusd):
                self._grant(waiter, waiter.want_nusd)
            elif answer.has_more:
                self._draw(answer.workspace_id, account)
                return
            else:
                self._grant_or_refuse(account, waiter)
        account.recall_until = 0.0
        if not answer.has_more:
            account.empty_until = now + self._timeouts.empty_s
            account.refused_nusd = 0 if answer.gained_nusd > 0 else answer.asked.least_nusd
            account.refill_after = now + self._timeouts.refill_s

    def _recall(self, answer: Answer, account: Account, now: float) -> bool:
        """Call idle money back and look again soon. False when that has been tried for long."""
        if account.wish(answer.workspace_id).need_nusd == 0:
            return False
        if account.recall_until == 0.0:
            account.recall_until = now + self._timeouts.recall_s
            self._writer.call_back(answer.workspace_id)
        elif now >= account.recall_until:
            return False
        self._loop.call_later(self._timeouts.look_s, self._look_again, answer.workspace_id)
        return True

    def _look_again(self, workspace_id: str) -> None:
        account = self._accounts.get(workspace_id)
        if account is not None and account.waiters and not account.drawing:
            self._draw(workspace_id, account)

    def _grant(self, waiter: Waiter, amount_nusd: int) -> None:
        """Hand a waiter what the purse has just held for it."""
        self._holds += 1
        waiter.granted.set_result(amount_nusd)

    def _grant_or_refuse(self, account: Account, waiter: Waiter) -> None:
        try:
            waiter.granted.set_result(
                self._grant_rest(account, waiter.want_nusd, waiter.least_nusd)
            )
        except InsufficientCredits as refusal:
            waiter.granted.set_exception(refusal)

    def _grant_rest(self, account: Account, want_nusd: int, least_nusd: int) -> int:
        """Hold what is left in the purse; raises InsufficientCredits when that is too little."""
        amount_nusd = min(want_nusd, account.purse.free_nusd)
        if amount_nusd < max(least_nusd, 1):
            raise InsufficientCredits
        account.purse.hold(amount_nusd)
        self._holds += 1
        return amount_nusd

    # Moving money between wallet and purse

    def _draw(self, workspace_id: str, account: Account) -> None:
        account.drawing = account.wish(workspace_id)
        self._writer.wish(account.drawing)

    def _refill(self, workspace_id: str, account: Account) -> None:
        """Top the purse up in the background, so that later calls need not wait."""
        if self._loop.time() >= account.refill_after and not self._stopping:
            self._draw(workspace_id, account)

    def _give_back(
        self, workspace_id: str, account: Account, amount_nusd: int, *, announce: bool = False
    ) -> None:
        taken_nusd = account.purse.take_free(amount_nusd)
        if taken_nusd:
            self._writer.wish(GiveBack(workspace_id, taken_nusd, announce))

    def _heed_recall(self, workspace_id: str, account: Account) -> None:
        """Return what is free, now or when the draw under way has come back."""
        if account.waiters or account.drawing:
            return
        if self._loop.time() < account.recalled_until:
            self._give_back(workspace_id, account, account.purse.free_nusd, announce=True)
        else:
            account.recalled_until = 0.0

    def _tick(self) -> None:
        """Return what has not been needed, and forget purses that hold nothing."""
        self._timer = self._loop.call_later(self._timeouts.window_s, self._tick)
        for workspace_id, account in list(self._accounts.items()):
            unneeded_nusd = account.purse.turn_window()
            if account.drawing or account.waiters:
                continue
            self._give_back(workspace_id, account, unneeded_nusd)
            if account.purse.is_empty:
                del self._accounts[workspace_id]

    def _fail_waiters(self, error: Exception) -> None:
        for account in self._accounts.values():
            for waiter in account.waiting():
                waiter.granted.set_exception(error)
            account.waiters.clear()


def _give_up(waiter: Waiter) -> None:
    if not waiter.granted.done():
        waiter.granted.set_exception(DatabaseUnavailable(retry_after_s=1))
