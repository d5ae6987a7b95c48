"""What owners of budgets have spent, counted on from the ledger: the same, whenever it is read."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from accounts.models import Workspace
from gateway.admission.spending import Spending
from gateway.core.budget_owner import key_owner
from gateway.core.errors import DatabaseUnavailable
from gateway.selectors.spending import total_of
from gateway.snapshot.types import SpendingLimits
from gateway.stores import ledger_spending
from gateway.stores.ledger_spending import LedgerSpending
from gateway.stores.process_stores import ProcessStores
from gateway.stores.writer import Writer
from tests.money.office import KEY_ID, admitted, end, hold, make_rich, run_with_stores
from tests.money.test_process_stores import declare_dead, locked
from tests.support.waiting import async_wait_until

pytestmark = pytest.mark.django_db(transaction=True)

COST_NUSD = 3
LIMITS = SpendingLimits(key_owner(KEY_ID, uuid.UUID(int=0)))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers are not kept waiting for long; a test on a busy machine may be."""
    monkeypatch.setattr(ledger_spending, "TIMEOUT_S", 60.0)


@pytest.fixture
def workspace() -> Workspace:
    return make_rich(10_000_000)


class Counter:
    """Calls of one key, whose charges are counted in memory as they are written down."""

    def __init__(self, stores: ProcessStores, writer: Writer, workspace: Workspace) -> None:
        self.spending = Spending()
        self.ledger = LedgerSpending(writer)
        self.calls = 0
        self._stores = stores
        self._workspace_id = str(workspace.pk)

    async def call(self) -> None:
        record = admitted(self._workspace_id, await hold(self._stores, self._workspace_id, 5))
        self._stores.records.admitted(record)
        end(self._stores, record, COST_NUSD)
        self.spending.charge(COST_NUSD, record.at, self.ledger.recorded)
        self.calls += 1

    async def call_until(self, task: asyncio.Task[object]) -> None:
        """Make calls, at least a few, until something is done."""
        made = 0
        while made < 20 or not task.done():
            await self.call()
            made += 1
            await asyncio.sleep(0 if made % 5 else 0.001)

    async def read(self) -> None:
        """Read the ledger, calls being made before, meanwhile and after."""
        self.spending.invalidate()
        await self.call_until(asyncio.ensure_future(asyncio.sleep(0.02)))
        self.spending.begin_reading()
        reading = asyncio.ensure_future(self.ledger.read(LIMITS))
        await self.call_until(reading)
        self.spending.read(reading.result())

    @property
    def total_nusd(self) -> int:
        return self.spending.spent(0.0).total_nusd


def test_memory_and_ledger_agree_whenever_the_ledger_is_read(
    tmp_path: Path, workspace: Workspace
) -> None:
    writer = Writer(tmp_path)

    async def work(stores: ProcessStores) -> Counter:
        counter = Counter(stores, writer, workspace)
        for _ in range(12):
            await counter.read()
            assert counter.total_nusd == counter.calls * COST_NUSD
            await counter.call()
            assert counter.total_nusd == counter.calls * COST_NUSD
        return counter

    counter = run_with_stores(tmp_path, work, writer=writer)

    assert total_of(uuid.UUID(KEY_ID)) == counter.total_nusd


def test_a_ledger_that_cannot_be_written_is_not_half_read(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(tmp_path)

    async def work(stores: ProcessStores) -> Counter:
        counter = Counter(stores, writer, workspace)
        await counter.read()
        await counter.call()
        with locked(), monkeypatch.context() as patch:
            patch.setattr(ledger_spending, "TIMEOUT_S", 0.3)
            await counter.call()
            with pytest.raises(DatabaseUnavailable):
                await counter.ledger.read(LIMITS)
        await counter.read()
        assert counter.total_nusd == counter.calls * COST_NUSD
        return counter

    run_with_stores(tmp_path, work, writer=writer)


def test_another_life_of_the_process_has_the_ledger_read_again(
    tmp_path: Path, workspace: Workspace
) -> None:
    writer = Writer(tmp_path)

    async def work(stores: ProcessStores) -> None:
        counter, doubts = Counter(stores, writer, workspace), []
        stores.on_ledger_replaced = lambda: doubts.append(True)
        await counter.read()
        made = counter.calls
        # While a call runs the process does not begin anew.
        running = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 5))
        stores.records.admitted(running)
        await asyncio.to_thread(declare_dead, stores.process_id)
        with pytest.raises(DatabaseUnavailable):
            await hold(stores, str(workspace.pk), 9_000_000)
        end(stores, running, 0)

        async def has_heard() -> bool:
            return bool(doubts)

        await async_wait_until(has_heard, what="the other session")
        await counter.read()
        assert counter.total_nusd == counter.calls * COST_NUSD
        assert counter.calls > made

    run_with_stores(tmp_path, work, writer=writer)
