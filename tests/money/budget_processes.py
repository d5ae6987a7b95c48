"""Server processes that spend budgets of one workspace, in one test process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from django.db.models import Sum

from accounts.models import ConfigChange, User, Workspace
from gateway.core.budget_owner import BudgetOwner, key_owner, member_owner, workspace_owner
from gateway.core.errors import DatabaseUnavailable, KeyLimitExceeded
from gateway.models import Allotment, Budget
from gateway.snapshot.types import SpendingLimits
from gateway.stores.budgets import Budgets
from gateway.stores.process_stores import ProcessStores
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.writer import Writer
from keys.models import ApiKey
from tests.money.office import KEY_ID, admitted, end, hold

WANT_NUSD = 7
TIMEOUTS = ReservationTimeouts(database_s=60, recall_s=1.0, look_s=0.05)


class Process:
    """A server process: its stores with their thread, and its part of the key's budget."""

    def __init__(self, home: Path, workspace: Workspace) -> None:
        self.writer = Writer(home)
        self.stores = ProcessStores(self.writer, ReservationTimeouts(database_s=60, recall_s=60))
        self.budgets = Budgets(self.writer, TIMEOUTS)
        self.workspace_id = str(workspace.pk)

    async def start(self) -> None:
        await asyncio.to_thread(self.stores.start, asyncio.get_running_loop())
        self.stores.on_ledger_replaced = self.budgets.invalidate

    async def stop(self) -> None:
        self.budgets.close()
        await self.stores.stop()

    async def enter(self, *limits: SpendingLimits, want_nusd: int = WANT_NUSD) -> bool:
        """Hold; return whether the call was let in. Asks again while another process's writer has
        the database: on a busy machine that is longer than a lock is waited for."""
        while True:
            try:
                if not self.budgets.try_hold(limits, want_nusd):
                    await self.budgets.hold(limits, want_nusd)
            except KeyLimitExceeded:
                return False
            except DatabaseUnavailable:
                continue
            return True

    async def hold_in_purse(self, nusd: int) -> int:
        """Hold in the purse, which other writers keep waiting as well."""
        while True:
            with suppress(DatabaseUnavailable):
                return await hold(self.stores, self.workspace_id, nusd)

    async def leave(
        self, *limits: SpendingLimits, charge_nusd: int, want_nusd: int = WANT_NUSD
    ) -> None:
        """End a call that was let in."""
        in_purse_nusd = max(charge_nusd, want_nusd)
        held_nusd = await self.hold_in_purse(in_purse_nusd)
        record = admitted(self.workspace_id, held_nusd)
        self.stores.records.admitted(record)
        end(self.stores, record, charge_nusd)
        member = next((one.owner.id for one in limits if one.owner.member_id), "")
        owners = (self.workspace_id, member, KEY_ID)
        self.budgets.charge(owners, charge_nusd, record.at, self.writer.backlog.appended)
        self.budgets.release(limits, want_nusd)


@asynccontextmanager
async def serving(home: Path, workspace: Workspace, count: int) -> AsyncIterator[list[Process]]:
    """Run so many processes, which hear of each other's recalls."""
    processes = [Process(home / str(number), workspace) for number in range(count)]
    for process in processes:
        await process.start()
    feed = asyncio.ensure_future(pass_recalls_on(processes))
    try:
        yield processes
    finally:
        feed.cancel()
        with suppress(asyncio.CancelledError):
            await feed
        for process in processes:
            await process.stop()


async def pass_recalls_on(processes: list[Process]) -> None:
    seen = 0
    while True:
        for pk, ref in await asyncio.to_thread(recalls_since, seen):
            seen = pk
            for process in processes:
                process.budgets.recall(str(uuid.UUID(ref)))
        await asyncio.sleep(0.02)


def recalls_since(seen: int) -> list[tuple[int, str]]:
    rows = ConfigChange.objects.filter(kind="recall", pk__gt=seen).order_by("pk")
    return list(rows.values_list("pk", "ref"))


def drawn_nusd() -> int:
    return int(Budget.objects.aggregate(drawn=Sum("drawn_nusd"))["drawn"])


def allotted_nusd() -> int:
    return int(Allotment.objects.aggregate(held=Sum("amount_nusd"))["held"])


def make_member(workspace: Workspace) -> BudgetOwner:
    """Make the key, a member's own; return the owner of the member's budget."""
    user = User.objects.create_user(email="member@example.com")
    ApiKey.objects.create(
        pk=KEY_ID, workspace=workspace, created_by=user, digest="d", label="A key"
    )
    return member_owner(user.pk, workspace.pk)


OWNERS: dict[str, Callable[[Workspace], BudgetOwner]] = {
    "key": lambda workspace: key_owner(KEY_ID, workspace.pk),
    "member": make_member,
    "workspace": lambda workspace: workspace_owner(workspace.pk),
}
