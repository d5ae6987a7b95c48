"""Budgets of keys, members and workspaces where several processes spend them: each spends from its
parts (SpendingCounter).

Every other process's parts are called back before a call is refused. A call that finds enough in
this process's parts asks nobody. Used from one event loop; amounts are nano-USD.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from django.db import Error as DatabaseError

from gateway.core.errors import DatabaseUnavailable
from gateway.snapshot.types import SpendingLimits
from gateway.stores.budget_client import Ask, settle_budgets
from gateway.stores.budget_share import Share
from gateway.stores.drain import Fenced
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.workspace_budgets import Answer, WorkspaceBudgets
from gateway.stores.writer import Writer


class Budgets:
    """Of one process."""

    def __init__(self, writer: Writer, timeouts: ReservationTimeouts | None = None) -> None:
        self._writer = writer
        self._timeouts = timeouts or ReservationTimeouts()
        self._shares: dict[str, Share] = {}
        self._workspaces: dict[str, WorkspaceBudgets] = {}
        self._timer: asyncio.TimerHandle | None = None

    # What makes it a SpendingCounter of gateway.admission.counter_protocols

    @property
    def is_counting(self) -> bool:
        return bool(self._shares)

    def try_hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> bool:
        shares = self._shares
        found: list[Share] = []
        for limits in budgets:
            share = shares.get(limits.owner.id)
            if share is None or not share.covers(limits, want_nusd):
                return False
            found.append(share)
        for share in found:
            share.hold(want_nusd)
            if share.free_nusd < share.refill_below_nusd:
                self._workspaces[share.owner.workspace_id].refill(share)
        return True

    async def hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> None:
        await self._workspace(budgets[0].owner.workspace_id).hold(budgets, want_nusd)

    def release(self, budgets: Sequence[SpendingLimits], hold_nusd: int) -> None:
        self._workspace(budgets[0].owner.workspace_id).release(budgets, hold_nusd)

    def charge(self, owners: Sequence[str], charge_nusd: int, at: float, record: int) -> None:
        for owner_id in owners:
            share = self._shares.get(owner_id)
            if share is not None:
                share.charge(charge_nusd)
                workspace = self._workspaces[share.owner.workspace_id]
                workspace.on_charge(owner_id, charge_nusd, record)

    def invalidate(self, owner_id: str = "") -> None:
        for workspace in self._workspaces.values():
            workspace.invalidate()
        for name, share in self._shares.items():
            if not owner_id or name == owner_id:
                share.drawn_under = None

    def recall(self, owner_id: str) -> None:
        """Another process needs what this one does not."""
        share = self._shares.get(owner_id)
        if share is not None:
            self._workspaces[share.owner.workspace_id].on_recall(share)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _workspace(self, workspace_id: str) -> WorkspaceBudgets:
        found = self._workspaces.get(workspace_id)
        if found is None:
            if self._timer is None:
                self._start_timer()
            found = WorkspaceBudgets(self._shares, self._ask, self._timeouts)
            self._workspaces[workspace_id] = found
        return found

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeouts.window_s, self._turn_windows)

    def _turn_windows(self) -> None:
        """Return what has not been needed, and forget what holds nothing."""
        self._start_timer()
        unneeded: defaultdict[str, list[tuple[Share, int]]] = defaultdict(list)
        for owner_id, share in list(self._shares.items()):
            unneeded_nusd = share.turn_window()
            if unneeded_nusd > 0:
                unneeded[share.owner.workspace_id].append((share, unneeded_nusd))
            elif share.is_empty and self._workspaces[share.owner.workspace_id].is_idle:
                del self._shares[owner_id]
        for workspace_id, amounts in unneeded.items():
            self._workspaces[workspace_id].return_unneeded(amounts)
        needed = {share.owner.workspace_id for share in self._shares.values()}
        for workspace_id, workspace in list(self._workspaces.items()):
            if workspace.is_idle and workspace_id not in needed:
                del self._workspaces[workspace_id]

    async def _ask(self, ask: Ask) -> Answer:
        """Raises DatabaseUnavailable when there is no answer within 2 s."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        self._writer.ask(partial(self._settle, loop, answered, ask))
        timer = loop.call_later(self._timeouts.database_s, _fail, answered, "it was too late")
        try:
            return await answered
        finally:
            timer.cancel()

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        answered: asyncio.Future[Answer],
        ask: Ask,
        posted: int,
    ) -> None:
        """In the writer's thread."""
        answer: Callable[[], None]
        try:
            settlement = settle_budgets(self._writer.process_id, ask, time.time())
        except (DatabaseError, Fenced) as error:
            answer = partial(_fail, answered, repr(error))
        else:
            answer = partial(_give, answered, Answer(settlement, posted))
        # A loop that has ended has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(answer)


def _give(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)


def _fail(answered: asyncio.Future[Answer], detail: str) -> None:
    if not answered.done():
        answered.set_exception(DatabaseUnavailable(detail=detail, retry_after_s=1))
