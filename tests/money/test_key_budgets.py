"""Budgets of keys that several processes spend: never more than the limit, and no call is refused
for what another process has idle."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from django.db.models import Sum

from accounts.models import ConfigChange, Workspace
from gateway.core.errors import DatabaseUnavailable, KeyLimitExceeded
from gateway.models import KeyAllotment, KeyBudget, ServingProcess
from gateway.selectors.key_spending import total_of
from gateway.snapshot.types import SpendingLimits
from gateway.stores import key_budgets
from gateway.stores.key_budget import KeyBudget as Counter
from gateway.stores.key_budget_client import Allotted, Ask, settle_budget
from gateway.stores.key_budgets import KeyBudgets
from gateway.stores.process_stores import ProcessStores
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.writer import Writer
from tests.money.office import KEY_ID, admitted, end, hold, make_rich
from tests.money.test_process_stores import declare_dead
from tests.support.waiting import async_wait_until

pytestmark = pytest.mark.django_db(transaction=True)

WANT_NUSD = 7
TIMEOUTS = ReservationTimeouts(database_s=60, recall_s=1.0, look_s=0.05)


@pytest.fixture
def workspace() -> Workspace:
    return make_rich(10_000_000)


class Process:
    """A serving process: its stores with their thread, and its part of the key's budget."""

    def __init__(self, home: Path, workspace: Workspace) -> None:
        self.writer = Writer(home)
        self.stores = ProcessStores(self.writer, ReservationTimeouts(database_s=60, recall_s=60))
        self.budgets = KeyBudgets(self.writer, TIMEOUTS)
        self.workspace_id = str(workspace.pk)
        self.counter: Counter

    async def start(self) -> None:
        await asyncio.to_thread(self.stores.start, asyncio.get_running_loop())
        self.counter = self.budgets.counter(KEY_ID)
        self.stores.on_ledger_replaced = self.counter.invalidate

    async def stop(self) -> None:
        self.budgets.close()
        await self.stores.stop()

    async def enter(self, limits: SpendingLimits, want_nusd: int = WANT_NUSD) -> bool:
        """Hold; return whether the call was let in. Asks again while another process's writer has
        the database: on a busy machine that is longer than a lock is waited for."""
        while True:
            try:
                if not self.counter.try_hold(limits, want_nusd):
                    await self.counter.hold(limits, want_nusd)
            except KeyLimitExceeded:
                return False
            except DatabaseUnavailable:
                continue
            return True

    async def leave(self, charge_nusd: int, want_nusd: int = WANT_NUSD) -> None:
        """End a call that was let in."""
        in_purse_nusd = max(charge_nusd, want_nusd)
        held_nusd = await hold(self.stores, self.workspace_id, in_purse_nusd)
        record = admitted(self.workspace_id, held_nusd)
        self.stores.records.admitted(record)
        end(self.stores, record, charge_nusd)
        self.counter.charge(charge_nusd, record.at, self.writer.backlog.appended)
        self.counter.release(want_nusd)


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
    return KeyBudget.objects.get(pk=KEY_ID).drawn_nusd


def allotted_nusd() -> int:
    return int(KeyAllotment.objects.aggregate(held=Sum("amount_nusd"))["held"])


@pytest.mark.parametrize("period", ["daily_nusd", "monthly_nusd", "total_nusd"])
def test_exactly_what_the_limit_covers_is_admitted(
    tmp_path: Path, workspace: Workspace, period: str
) -> None:
    async def run() -> int:
        async with serving(tmp_path, workspace, 2) as processes:
            limits = SpendingLimits(None, None, None)._replace(**{period: 11 * WANT_NUSD - 1})
            calls = [processes[n % 2].enter(limits) for n in range(64)]
            return sum(await asyncio.gather(*calls))

    assert asyncio.run(run()) == 10


def test_what_another_process_has_idle_comes_back_before_a_call_is_refused(
    tmp_path: Path, workspace: Workspace
) -> None:
    limits = SpendingLimits(100, None, None)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, 10)  # and has more than that
            assert await other.enter(limits, 90)
            assert not await other.enter(limits, 1)
            assert not await one.enter(limits, 1)

            await one.leave(4, 10)

            assert await other.enter(limits, 6)
            assert not await one.enter(limits, 1)

    asyncio.run(run())


def test_spending_and_what_is_drawn_are_never_more_than_the_limit(
    tmp_path: Path, workspace: Workspace
) -> None:
    limit_nusd = 60 * WANT_NUSD
    limits = SpendingLimits(limit_nusd, limit_nusd, limit_nusd)

    async def call(process: Process, number: int) -> int:
        if not await process.enter(limits):
            return 0
        await asyncio.sleep(0.001 * (number % 7))
        charge_nusd = number % (WANT_NUSD + 1)
        await process.leave(charge_nusd)
        return charge_nusd

    async def run() -> int:
        async with serving(tmp_path, workspace, 3) as processes:
            charged = 0
            for round_ in range(6):
                calls = [call(processes[n % 3], n + round_) for n in range(48)]
                charged += sum(await asyncio.gather(*calls))
            return charged

    charged_nusd = asyncio.run(run())

    assert limit_nusd - WANT_NUSD < charged_nusd <= limit_nusd
    assert total_of(uuid.UUID(KEY_ID)) == charged_nusd
    assert drawn_nusd() == 0
    assert not KeyAllotment.objects.exists()


def test_one_process_asks_the_database_once(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[object] = []

    def counted(process_id: uuid.UUID, ask: Ask, at: float) -> Allotted:
        questions.append(ask)
        return settle_budget(process_id, ask, at)

    monkeypatch.setattr(key_budgets, "settle_budget", counted)
    limits = SpendingLimits(1_000_000, None, None)

    async def run() -> None:
        async with serving(tmp_path, workspace, 1) as (process,):
            for _ in range(200):
                assert await process.enter(limits)
                await process.leave(5)

    asyncio.run(run())

    assert len(questions) == 1


def test_the_part_of_a_dead_process_comes_back(tmp_path: Path, workspace: Workspace) -> None:
    limits = SpendingLimits(100, None, None)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, 60)
            assert not await other.enter(limits, 60)

            await asyncio.to_thread(declare_dead, one.stores.process_id)

            assert await other.enter(limits, 60)

    asyncio.run(run())


def test_changed_limits_are_followed_at_once(tmp_path: Path, workspace: Workspace) -> None:
    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(SpendingLimits(100, None, None), 10)
            tight = SpendingLimits(20, None, None)
            assert not await one.enter(tight, 11)
            assert await other.enter(tight, 10)
            assert await one.enter(SpendingLimits(30, None, None), 10)

    asyncio.run(run())


def test_a_charge_beyond_its_hold_is_missing_from_the_budget(
    tmp_path: Path, workspace: Workspace
) -> None:
    limits = SpendingLimits(100, None, None)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, 10)
            await one.leave(40, 10)
            assert await other.enter(limits, 60)
            assert not await one.enter(limits, 1)

    asyncio.run(run())


def test_a_call_that_leaves_takes_nothing_along(tmp_path: Path, workspace: Workspace) -> None:
    limits = SpendingLimits(100, None, None)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            leaving = [asyncio.ensure_future(one.enter(limits, 60)) for _ in range(3)]
            for passes, call in enumerate(leaving):
                await asyncio.sleep(0.002 * passes)
                call.cancel()
            for ended in await asyncio.gather(*leaving, return_exceptions=True):
                if ended is True:
                    one.counter.release(60)

            assert await other.enter(limits, 100)

    asyncio.run(run())


def test_a_stopped_process_leaves_nothing_drawn(tmp_path: Path, workspace: Workspace) -> None:
    async def run() -> None:
        async with serving(tmp_path, workspace, 1) as (process,):
            assert await process.enter(SpendingLimits(None, None, 100), 10)
            await process.leave(3, 10)

            async def has_posted() -> bool:
                return bool(await asyncio.to_thread(total_of, uuid.UUID(KEY_ID)))

            await async_wait_until(has_posted, what="the charge")
            held = await asyncio.to_thread(allotted_nusd)
            assert held == await asyncio.to_thread(drawn_nusd) == 97

    asyncio.run(run())

    assert drawn_nusd() == 0
    assert not ServingProcess.objects.filter(state=ServingProcess.State.ALIVE).exists()
