"""Processes that were only cut off from the database, and find that they were taken for dead."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import override_settings

from accounts.models import Purse, Wallet, Workspace
from gateway.journal.record import Admitted
from gateway.launch.failure import CannotStart
from gateway.models import CallRecord, JournalLoss, ServingProcess
from gateway.services.declaring_lost import declare_lost
from gateway.services.proving import prove
from gateway.stores.process import Company
from tests.money.branch import Branch, SteppedLoop, drive, end_lease
from tests.money.office import admitted, end, hold

pytestmark = pytest.mark.django_db(transaction=True)


def admit(branch: Branch, workspace: Workspace) -> Admitted:
    """Admit a call that holds 700; only the journal has it."""
    held = drive(branch.loop, hold(branch.stores, str(workspace.pk), 700), [branch])
    record = admitted(str(workspace.pk), held)
    branch.stores.records.admitted(record)
    return record


def test_a_process_that_lived_when_its_journal_was_declared_lost_enters_again(
    loop: SteppedLoop, workspace: Workspace, tmp_path: Path
) -> None:
    """Its host was only cut off from the database, for longer than the operator waited."""
    with_redis = Company(counts_alone=False, is_possible=True)
    with override_settings(HOME=tmp_path / "one"):
        cut_off = Branch(loop, tmp_path / "one" / "journal", with_redis)
        ended, running = (
            admitted(
                str(workspace.pk),
                drive(loop, hold(cut_off.stores, str(workspace.pk), 700), [cut_off]),
            )
            for _ in range(2)
        )
        for record in (ended, running):
            cut_off.stores.records.admitted(record)
        end(cut_off.stores, ended, 300)
    former = ServingProcess.objects.get()
    reserved_nusd = Purse.objects.get().amount_nusd
    end_lease(former, ago_s=3_600)
    with override_settings(HOME=tmp_path / "two"):
        declare_lost(former.pk, actor="ann@example.com")

    with override_settings(HOME=tmp_path / "one"):
        cut_off.step()  # it is told
        assert cut_off.stores.credits.is_fenced
        end(cut_off.stores, running, 200)
        cut_off.step()

        loss = JournalLoss.objects.get()
        assert loss.reserved_nusd == reserved_nusd
        assert (loss.late_records, loss.late_cost_nusd) == (3, 300)
        assert (tmp_path / "one" / "quarantine" / f"journal-{former.pk}").is_dir()
        assert not CallRecord.objects.exists()
        end(cut_off.stores, admit(cut_off, workspace), 500)
        cut_off.stop()
    assert list(CallRecord.objects.values_list("status", "charge_nusd")) == [("ok", 500)]
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 9_500
    assert prove().breaks == []


def test_a_process_that_counts_alone_and_was_overtaken_posts_its_journal_and_waits(
    loop: SteppedLoop, workspace: Workspace, tmp_path: Path
) -> None:
    alone = Company(counts_alone=True, is_possible=True)
    with override_settings(HOME=tmp_path / "one"):
        cut_off = Branch(loop, tmp_path / "one" / "journal", alone)
        end(cut_off.stores, admit(cut_off, workspace), 300)
    former = ServingProcess.objects.get()
    end_lease(former, ago_s=1)

    with override_settings(HOME=tmp_path / "two"):
        successor = Branch(loop, tmp_path / "two" / "journal", alone)
    with override_settings(HOME=tmp_path / "one"):
        cut_off.step()  # it is told
        with pytest.raises(CannotStart, match="serves this database"):
            cut_off.step()  # it leaves, and wants to enter again

        former.refresh_from_db()
        assert former.state == "stopped"
        assert list(CallRecord.objects.values_list("status", "charge_nusd")) == [("ok", 300)]
        assert cut_off.stores.credits.is_fenced
        with override_settings(HOME=tmp_path / "two"):
            successor.stop()
        cut_off.step()
        assert ServingProcess.objects.get(state="alive").home == str(tmp_path / "one")
        cut_off.stop()
    assert prove().breaks == []
