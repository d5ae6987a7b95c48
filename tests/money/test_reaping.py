"""Who counts as dead, and what becomes of what they leave."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from accounts.models import Purse, Wallet, Workspace
from gateway.models import CallRecord, ServingProcess
from gateway.services.proving import prove
from gateway.stores.process import is_locked
from gateway.stores.reaping import Reaper, end_process
from tests.money.branch import Branch, SteppedLoop, drive
from tests.money.office import admitted, end, hold

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def branch(loop: SteppedLoop, workspace: Workspace, tmp_path: Path) -> Branch:
    """A process with one call that has ended, one that runs, and nothing drained."""
    branch = Branch(loop, tmp_path)
    for charge in (300, None):
        held = drive(loop, hold(branch.stores, str(workspace.pk), 700), [branch])
        record = admitted(str(workspace.pk), held)
        branch.stores.records.admitted(record)
        if charge is not None:
            end(branch.stores, record, charge)
    branch.stores.credits.close()
    return branch


def expire_lease() -> None:
    past = timezone.now() - timedelta(seconds=1)
    ServingProcess.objects.update(lease_until=past)


def test_journal_of_a_killed_process_is_posted_and_its_money_returned(
    branch: Branch, workspace: Workspace
) -> None:
    folder = branch.writer.folder
    branch.die()

    [reaped] = Reaper().run()

    assert (reaped.aborted_calls, Purse.objects.count()) == (1, 0)
    charges = CallRecord.objects.order_by("charge_nusd").values_list("status", "charge_nusd")
    assert list(charges) == [("platform_aborted", 0), ("ok", 300)]
    wallet = Wallet.objects.get(pk=workspace.pk)
    assert (wallet.posted_nusd, wallet.drawn_nusd) == (9_700, 0)
    assert not folder.exists()
    assert prove().breaks == []


def test_second_reaper_finds_nothing_to_do(branch: Branch) -> None:
    branch.die()
    listed = ServingProcess.objects.get()

    first = Reaper().run()
    listed.state = ServingProcess.State.ALIVE  # what a reaper that looked earlier has read

    assert len(first) == 1
    assert end_process(listed, ServingProcess.State.REAPED) is None
    assert Reaper().run() == []


def test_living_process_keeps_its_lock_and_is_left_alone(branch: Branch) -> None:
    assert is_locked(branch.writer.folder)
    assert Reaper().run() == []
    branch.die()


def test_lease_must_stay_over_for_a_while_before_a_process_counts_as_dead(branch: Branch) -> None:
    reaper = Reaper(watch_present_s=60)
    expire_lease()

    assert reaper.run() == []

    reaper.watch_present_s = 0
    assert len(reaper.run()) == 1
    branch.die()


def test_watching_begins_anew_when_the_database_kept_everybody_waiting(branch: Branch) -> None:
    reaper = watching()

    with locked_for(2.0):
        assert reaper.run() == []
    branch.step()

    assert reaper.run() == []
    assert ServingProcess.objects.get().state == "alive"
    branch.die()


def test_what_was_seen_before_the_database_was_away_does_not_count(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reaper = watching()

    with monkeypatch.context() as patch:
        patch.setattr(ServingProcess.objects, "filter", go_away)
        with pytest.raises(OperationalError):
            reaper.run()

    assert reaper.run() == []
    branch.die()


def watching() -> Reaper:
    """Return one that has watched a process for long whose lease is over."""
    reaper = Reaper(watch_present_s=0.2)
    expire_lease()
    assert reaper.run() == []
    time.sleep(0.3)
    return reaper


def go_away(**_: object) -> None:
    raise OperationalError("the database is away")


@contextmanager
def locked_for(duration_s: float) -> Iterator[None]:
    """Another program takes the write lock and lets go of it after a while."""
    other = sqlite3.connect(
        connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(duration_s, other.execute, ["ROLLBACK"])
    timer.start()
    try:
        yield
    finally:
        timer.join()
        other.close()


def test_shortened_journal_is_said(branch: Branch, caplog: pytest.LogCaptureFixture) -> None:
    branch.step()  # the database has read it so far
    branch.die(cut_to=0)

    Reaper().run()

    assert "calls that were only there are lost" in caplog.text
    assert CallRecord.objects.filter(status="in_progress").count() == 0


def test_process_that_renewed_its_lease_is_not_reaped_on_an_old_look(branch: Branch) -> None:
    expire_lease()
    listed = ServingProcess.objects.get()
    branch.step()

    assert end_process(listed, ServingProcess.State.REAPED) is None
    assert ServingProcess.objects.get().state == "alive"
    branch.die()


def test_process_of_another_host_is_reaped_by_its_lease_alone(branch: Branch) -> None:
    branch.die()
    ServingProcess.objects.update(host="elsewhere")
    reaper = Reaper(watch_absent_s=0)

    assert reaper.run() == []

    expire_lease()
    assert len(reaper.run()) == 1


def test_damaged_journal_is_posted_up_to_the_damage_and_kept(branch: Branch) -> None:
    folder = branch.writer.folder
    branch.die(tail=b"\x01" * 100)

    Reaper().run()

    assert CallRecord.objects.count() == 2
    assert folder.exists()
