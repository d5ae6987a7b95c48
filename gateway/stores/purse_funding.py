"""Moving money between wallets and this process's purses: draws, returns, recalls.

On the event loop; the writer's thread does the database's part (gateway.stores.wallet_client).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gateway.stores.account import Account
from gateway.stores.wallet_client import Answer, GiveBack
from gateway.stores.writer_inbox import WriterInbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationTimeouts:
    """How long each step of a reservation may take, in seconds."""

    database_s: float = 2.0  # hold() gives up on the database
    # For money that other processes have idle. On a busy machine half a second was too short.
    recall_s: float = 1.5
    look_s: float = 0.1  # between two looks for such money
    empty_s: float = 0.25  # an empty wallet is believed to be empty
    refill_s: float = 1.0  # between two refills that brought too little
    window_s: float = 5.0  # spending is measured over two of these; idle money goes back


class PurseFunding:
    """Fills the purses of one process, and returns what they do not need.

    accounts: by workspace; shared with the CreditReserver, which adds to them.
    """

    def __init__(
        self, accounts: dict[str, Account], inbox: WriterInbox, timeouts: ReservationTimeouts
    ) -> None:
        self._accounts = accounts
        self._inbox = inbox
        self._timeouts = timeouts
        self._stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return idle money from now on. loop: the one that uses the purses."""
        self._loop = loop
        loop.call_soon_threadsafe(self._return_unneeded)

    def close(self) -> None:
        """Draw only for calls that wait."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()

    def draw(self, workspace_id: str, account: Account) -> None:
        account.drawing = account.needed_draw(workspace_id)
        self._inbox.put(account.drawing)

    def refill(self, workspace_id: str, account: Account) -> None:
        """Top the purse up in the background, so that later calls need not wait."""
        if self._loop.time() >= account.refill_after and not self._stopping:
            self.draw(workspace_id, account)

    def _give_back(
        self, workspace_id: str, account: Account, amount_nusd: int, *, announce: bool = False
    ) -> None:
        taken_nusd = account.purse.take_free(amount_nusd)
        if taken_nusd:
            self._inbox.put(GiveBack(workspace_id, taken_nusd, announce))

    def follow_recall(self, workspace_id: str, account: Account) -> None:
        """Return what is free, now or when the draw under way has come back.

        Callers here that wait themselves keep it only if it is enough for one of them. Else several
        processes would each keep a part of what one call needs, and all would refuse.
        """
        if account.drawing or account.can_serve_a_waiter():
            return
        if self._loop.time() < account.recalled_until:
            self._give_back(workspace_id, account, account.purse.free_nusd, announce=True)
        else:
            account.recalled_until = 0.0

    def _return_unneeded(self) -> None:
        """Return what has not been needed, and forget purses that hold nothing."""
        self._timer = self._loop.call_later(self._timeouts.window_s, self._return_unneeded)
        for workspace_id, account in list(self._accounts.items()):
            unneeded_nusd = account.purse.turn_window()
            if account.drawing or account.waiters:
                continue
            self._give_back(workspace_id, account, unneeded_nusd)
            if account.purse.is_empty:
                del self._accounts[workspace_id]

    def call_back(self, answer: Answer, account: Account) -> bool:
        """Call idle money back and look again soon. False when that has been tried for long."""
        if account.needed_draw(answer.workspace_id).need_nusd == 0:
            return False
        now = self._loop.time()
        if account.recall_until == 0.0:
            account.recall_until = now + self._timeouts.recall_s
            self._inbox.call_back(answer.workspace_id)
        elif now >= account.recall_until:
            return False
        self._loop.call_later(self._timeouts.look_s, self._look_again, answer.workspace_id)
        return True

    def _look_again(self, workspace_id: str) -> None:
        account = self._accounts.get(workspace_id)
        if account is not None and account.waiters and not account.drawing:
            self.draw(workspace_id, account)
