"""The disk is full: nobody new is let in, and who is in can still end."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path

import pytest

from accounts.models import Wallet, Workspace
from gateway.core.errors import StorageUnavailable
from gateway.journal.record import Refused
from gateway.models import CallRecord
from gateway.services.proving import prove
from gateway.stores.reaping import Reaper
from tests.money.branch import Branch, SteppedLoop, drive
from tests.money.office import admitted, end, hold, refused

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "x" * 100_000


@pytest.fixture
def branch(loop: SteppedLoop, workspace: Workspace, tmp_path: Path) -> Branch:
    return Branch(loop, tmp_path)


def fill_disk(*_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fill_journal(branch: Branch, workspace: Workspace) -> None:
    """Let calls in until there is no room for another."""
    for user in (LONG, ""):
        with suppress(StorageUnavailable):
            while True:
                branch.stores.records.admitted(admitted(str(workspace.pk), 0, user=user))


def refusal(workspace: Workspace) -> Refused:
    return refused(
        str(workspace.pk),
        http_status=503,
        error_code="storage_unavailable",
        requested_model=LONG,
    )


def test_a_call_that_was_let_in_has_room_for_its_end(
    branch: Branch, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = drive(branch.loop, hold(branch.stores, str(workspace.pk), 700), [branch])
    record = admitted(str(workspace.pk), held)
    branch.stores.records.admitted(record)
    monkeypatch.setattr(os, "posix_fallocate", fill_disk)
    fill_journal(branch, workspace)
    for _ in range(20):
        branch.stores.records.refused(refusal(workspace))

    end(branch.stores, record, 300)
    branch.stores.credits.close()
    branch.die()
    monkeypatch.undo()
    Reaper().run()

    assert CallRecord.objects.get(pk=record.call_id).charge_nusd == 300
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 9_700
    assert prove().breaks == []


def test_calls_are_let_in_again_when_there_is_room(
    branch: Branch, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", fill_disk)
        fill_journal(branch, workspace)

    record = admitted(str(workspace.pk), 0)
    branch.stores.records.admitted(record)
    branch.stop()

    assert CallRecord.objects.filter(pk=record.call_id).exists()


def test_a_full_disk_is_logged_once_and_not_for_every_record(
    branch: Branch,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", fill_disk)
    fill_journal(branch, workspace)

    with caplog.at_level(logging.ERROR):
        for _ in range(20):
            branch.stores.records.refused(refusal(workspace))
    monkeypatch.undo()
    branch.stop()

    assert caplog.text.count("accepts no more records") == 1
    assert CallRecord.objects.filter(error_code="storage_unavailable").count() == 20
