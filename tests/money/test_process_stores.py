"""A process's credits and records with real threads on a real database file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.models import Purse, Wallet, Workspace
from gateway.core.errors import DatabaseUnavailable, InsufficientCredits, StorageUnavailable
from gateway.journal.file import JournalWriter
from gateway.models import CallRecord, ServingProcess
from gateway.services.proving import prove
from gateway.stores import stall_monitor
from gateway.stores.backlog import RETRY_S
from gateway.stores.process_stores import ProcessStores
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.reaping import end_process
from gateway.stores.writer import Writer
from tests.money.office import LONG_TIMEOUTS, admitted, end, hold, make_rich, run_with_stores
from tests.support.waiting import async_wait_until, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_ten_of_two_hundred_calls_fit_a_balance_for_ten(tmp_path: Path) -> None:
    workspace = make_rich(10 * 1_000)

    async def work(stores: ProcessStores) -> list[int | BaseException]:
        waiting = [hold(stores, str(workspace.pk), 1_000) for _ in range(200)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes = run_with_stores(tmp_path, work)

    assert [one for one in outcomes if isinstance(one, int)] == [1_000] * 10
    assert sum(isinstance(one, InsufficientCredits) for one in outcomes) == 190


def test_last_call_gets_what_is_left(tmp_path: Path) -> None:
    workspace = make_rich(1_500)

    async def work(stores: ProcessStores) -> list[int]:
        return [await hold(stores, str(workspace.pk), 1_000, least=100) for _ in range(2)]

    assert run_with_stores(tmp_path, work) == [1_000, 500]


def test_workspace_without_a_wallet_is_refused(tmp_path: Path) -> None:
    workspace = Workspace.objects.create(name="Poor", slug="poor")

    with pytest.raises(InsufficientCredits):
        run_with_stores(tmp_path, lambda stores: hold(stores, str(workspace.pk), 1))


def test_calls_are_charged_and_everything_else_goes_back(tmp_path: Path) -> None:
    workspace = make_rich(1_000_000)

    async def work(stores: ProcessStores) -> None:
        for _ in range(50):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
            stores.records.admitted(record)
            end(stores, record, 300)

    run_with_stores(tmp_path, work)

    wallet = Wallet.objects.get(pk=workspace.pk)
    assert (wallet.posted_nusd, wallet.drawn_nusd) == (1_000_000 - 50 * 300, 0)
    assert not Purse.objects.exists()
    assert ServingProcess.objects.get().state == "stopped"
    assert list(tmp_path.iterdir()) == []
    assert prove().breaks == []


def test_cancelled_wait_leaves_no_money_behind(tmp_path: Path) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> int:
        for spins in range(30):
            task = asyncio.ensure_future(hold(stores, str(workspace.pk), 900))
            for _ in range(spins):
                await asyncio.sleep(0.0005)
            task.cancel()
            [outcome] = await asyncio.gather(task, return_exceptions=True)
            if isinstance(outcome, int):
                stores.credits.release(str(workspace.pk), outcome, 0)
        return await hold(stores, str(workspace.pk), 1_000)

    assert run_with_stores(tmp_path, work) == 1_000


def test_a_refused_call_does_not_refuse_a_cheaper_one(tmp_path: Path) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> list[int]:
        for dear_nusd in (1_001, 5_000):
            with pytest.raises(InsufficientCredits):
                await hold(stores, str(workspace.pk), dear_nusd)
        return [await hold(stores, str(workspace.pk), cheap_nusd) for cheap_nusd in (300, 700)]

    assert run_with_stores(tmp_path, work) == [300, 700]


def test_call_left_running_at_the_stop_is_aborted_for_free(tmp_path: Path) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> None:
        stores.records.admitted(
            admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
        )

    run_with_stores(tmp_path, work)

    call = CallRecord.objects.get()
    assert (call.status, call.charge_basis) == ("platform_aborted", "zero_platform")
    assert Wallet.objects.get(pk=workspace.pk).drawn_nusd == 0


def test_purse_goes_on_while_the_database_is_locked(tmp_path: Path) -> None:
    workspace = make_rich(1_000_000)

    async def work(stores: ProcessStores) -> None:
        first = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 100))
        with locked():
            second = admitted(str(workspace.pk), 100)
            assert stores.credits.try_hold(str(workspace.pk), 100)
            stores.records.admitted(first)
            stores.records.admitted(second)
            end(stores, first, 100)
            end(stores, second, 100)
            with pytest.raises(DatabaseUnavailable) as refusal:
                await hold(stores, str(workspace.pk), 900_000)
            assert refusal.value.retry_after_s

    run_with_stores(tmp_path, work, timeouts=ReservationTimeouts(database_s=0.5))

    assert CallRecord.objects.filter(status="ok", charge_nusd=100).count() == 2
    assert prove().breaks == []


def test_full_disk_refuses_new_calls_and_loses_no_settlement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> None:
        record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 500))
        stores.records.admitted(record)
        with monkeypatch.context() as patch:
            patch.setattr(JournalWriter, "append", fill_disk)
            with pytest.raises(StorageUnavailable):
                stores.records.admitted(admitted(str(workspace.pk), 1))
            end(stores, record, 200)

    run_with_stores(tmp_path, work)

    assert CallRecord.objects.get().charge_nusd == 200
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 800


def test_record_that_the_database_refuses_does_not_hold_up_the_rest(tmp_path: Path) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> None:
        odd: list[tuple[int, dict[str, Any]]]
        odd = [(10, {"http_status": None}), (20, {}), (30, {"provider": "\ud800"})]
        for charge, fields in odd:
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 100))
            stores.records.admitted(record)
            end(stores, record, charge, **fields)

    run_with_stores(tmp_path, work)

    charges = dict(CallRecord.objects.values_list("charge_nusd", "status"))
    assert charges == {0: "platform_aborted", 20: "ok", 30: "ok"}
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 950
    assert prove().breaks == []


def test_idle_money_of_another_process_is_called_back(tmp_path: Path) -> None:
    workspace = make_rich(1_000)
    workspace_id = str(workspace.pk)

    async def work(stores: ProcessStores) -> int:
        other = ProcessStores(Writer(tmp_path), LONG_TIMEOUTS)
        other.start(asyncio.get_running_loop())
        assert await hold(stores, workspace_id, 600) == 600
        stores.credits.release(workspace_id, 600, 0)
        asking = asyncio.ensure_future(hold(other, workspace_id, 1_000))
        while not asking.done():
            stores.credits.on_recall(workspace_id)
            await asyncio.sleep(0.05)
        await other.stop()
        return asking.result()

    assert run_with_stores(tmp_path, work) == 1_000


def test_what_two_processes_have_half_of_each_serves_one_of_them(tmp_path: Path) -> None:
    workspace_id = str(make_rich(1_000).pk)

    async def work(stores: ProcessStores) -> list[int]:
        other = ProcessStores(Writer(tmp_path), LONG_TIMEOUTS)
        other.start(asyncio.get_running_loop())
        both = (stores, other)
        for one in both:
            assert await hold(one, workspace_id, 500) == 500
            one.credits.release(workspace_id, 500, 0)
        asking = [asyncio.ensure_future(hold(one, workspace_id, 1_000)) for one in both]
        for _ in range(60):
            await asyncio.sleep(0.05)
            if any(call.done() for call in asking):
                break
            for one in both:
                one.credits.on_recall(workspace_id)
        granted = [call.result() for call in asking if call.done()]
        for call in asking:
            call.cancel()
        await other.stop()
        return granted

    assert run_with_stores(tmp_path, work) == [1_000]


def test_money_that_nobody_needs_goes_back_by_itself(tmp_path: Path) -> None:
    workspace = make_rich(1_000)

    async def work(stores: ProcessStores) -> None:
        assert await hold(stores, str(workspace.pk), 600) == 600
        stores.credits.release(str(workspace.pk), 600, 0)
        await asyncio.to_thread(wait_for_it)

    def wait_for_it() -> None:
        wait_until(lambda: Wallet.objects.get().drawn_nusd == 0, what="the money to come back")
        connection.close()

    run_with_stores(tmp_path, work, timeouts=ReservationTimeouts(window_s=0.1))

    assert Wallet.objects.get().posted_nusd == 1_000


def test_money_goes_back_that_was_returned_while_the_database_was_locked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace_id = str(make_rich(1_000).pk)

    async def work(stores: ProcessStores) -> None:
        record = admitted(workspace_id, await hold(stores, workspace_id, 600))
        stores.records.admitted(record)

        async def is_in_trouble() -> bool:
            return "database writer tries again" in caplog.text

        async def is_returned() -> bool:
            return stores.credits.sum_purses().total_nusd == 0

        with locked():
            # A batch of records of which nobody knows whether they are posted, then the return.
            end(stores, record, 100)
            await async_wait_until(is_in_trouble)
            await async_wait_until(is_returned)
            await asyncio.sleep(2 * RETRY_S)
        await asyncio.to_thread(wait_for_it)

    def wait_for_it() -> None:
        wait_until(lambda: Wallet.objects.get().drawn_nusd == 0, what="the money to come back")
        connection.close()

    run_with_stores(tmp_path, work, timeouts=ReservationTimeouts(window_s=0.1))

    assert Wallet.objects.get().posted_nusd == 900


def test_process_declared_dead_stops_and_begins_again(tmp_path: Path) -> None:
    workspace = make_rich(1_000)
    workspace_id = str(workspace.pk)

    async def work(stores: ProcessStores) -> tuple[str, str]:
        before = stores.process_id
        record = admitted(workspace_id, await hold(stores, workspace_id, 100))
        stores.records.admitted(record)
        await asyncio.to_thread(declare_dead, before)
        with pytest.raises(DatabaseUnavailable):
            await hold(stores, workspace_id, 900)
        with pytest.raises(DatabaseUnavailable):
            stores.records.admitted(admitted(workspace_id, 0))
        end(stores, record, 100)
        await async_wait_until(is_readmitted(stores), what="a second session")
        assert await hold(stores, workspace_id, 1_000) == 1_000
        return before, stores.process_id

    before, after = run_with_stores(tmp_path, work)

    assert before != after
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 1_000
    assert CallRecord.objects.get().status == "platform_aborted"
    assert prove().breaks == []


def test_a_process_that_was_stopped_lets_nobody_in_until_it_knows_that_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_id = str(make_rich(1_000).pk)

    async def work(stores: ProcessStores) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(stall_monitor, "MAX_STALL_S", -1)  # every moment counts as a long one
            with pytest.raises(DatabaseUnavailable):
                stores.records.admitted(admitted(workspace_id, 0))
        await async_wait_until(lets_in(stores, workspace_id), what="a call to be let in")

    run_with_stores(tmp_path, work)

    assert CallRecord.objects.count() == 1


def test_a_clock_that_is_set_an_hour_forward_keeps_nobody_out(tmp_path: Path) -> None:
    workspace_id = str(make_rich(1_000).pk)

    async def work(stores: ProcessStores) -> None:
        stores.records.admitted(admitted(workspace_id, 0, at=time.time() + 3600))

    run_with_stores(tmp_path, work)

    assert CallRecord.objects.count() == 1


def lets_in(stores: ProcessStores, workspace_id: str) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        try:
            stores.records.admitted(admitted(workspace_id, 0))
        except DatabaseUnavailable:
            return False
        return True

    return ask


def test_trouble_with_the_database_is_logged_once_from_its_beginning_to_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace_id = str(make_rich(1_000).pk)

    async def is_logged() -> bool:
        return "database writer tries again" in caplog.text

    async def work(stores: ProcessStores) -> None:
        with locked():
            stores.records.admitted(admitted(workspace_id, 0))
            for _ in range(60):
                stores._writer.inbox.wake()  # there is nothing to do before the next try
                await asyncio.sleep(0.05)
            await async_wait_until(is_logged, what="the trouble to be noticed")
            assert caplog.text.count("database writer tries again") == 1
            assert "answers again" not in caplog.text

    run_with_stores(tmp_path, work)

    assert CallRecord.objects.count() == 1


def is_readmitted(stores: ProcessStores) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        return not stores.credits.is_fenced

    return ask


def declare_dead(process_id: str) -> None:
    """Do what a reaper on another host would do once the lease is over."""

    def try_it() -> bool:
        process = ServingProcess.objects.get(pk=process_id)
        return end_process(process, ServingProcess.State.REAPED) is not None

    wait_until(try_it, what="the process to be ended")
    connection.close()


@contextmanager
def locked() -> Iterator[None]:
    """Another program holds the write lock."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def fill_disk(self: JournalWriter, record: object, leave_bytes: int = 0) -> None:
    raise OSError(28, os.strerror(28))
