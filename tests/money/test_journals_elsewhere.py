"""Dead processes whose journals are not here: left alone, adopted, declared lost, and come back."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from accounts.ids import new_id
from accounts.models import AuditEvent, Purse, Wallet, Workspace
from gateway.journal.file import read_records
from gateway.models import (
    Allotment,
    Budget,
    CallRecord,
    JournalFault,
    JournalLoss,
    ServingProcess,
)
from gateway.services import adopting
from gateway.services.adopting import adopt_journal
from gateway.services.declaring_lost import declare_lost, find_worst_case
from gateway.services.proving import prove
from gateway.stores.late_journals import set_late_journals_aside
from gateway.stores.process import LOCK_NAME, position_of
from gateway.stores.reaping import Reaper
from tests.money.branch import Branch, SteppedLoop, drive, end_lease
from tests.money.office import KEY_ID, admitted, end, hold

pytestmark = pytest.mark.django_db(transaction=True)

ACTOR = "ann@example.com"


@dataclass
class Dead:
    """A process that died with one call posted as open, and two that only its journal has: one of
    them ended and cost 300, the other was running. copy: its journal, out of its home."""

    process_id: UUID
    journals: Path
    copy: Path
    workspace: Workspace

    @property
    def folder(self) -> Path:
        return self.journals / str(self.process_id)

    @property
    def process(self) -> ServingProcess:
        return ServingProcess.objects.get(pk=self.process_id)

    def statuses(self) -> list[str]:
        return sorted(CallRecord.objects.values_list("status", flat=True))

    def wallet(self) -> tuple[int, int]:
        wallet = Wallet.objects.get(pk=self.workspace.pk)
        return wallet.posted_nusd, wallet.drawn_nusd

    def come_back(self) -> None:
        """Its home is there again, with the journal as it was, and a server starts."""
        shutil.copytree(self.copy, self.folder)
        Reaper(journals_elsewhere=True).run()
        set_late_journals_aside(self.journals)


@pytest.fixture
def dead(loop: SteppedLoop, workspace: Workspace, tmp_path: Path) -> Iterator[Dead]:
    home = tmp_path / "home"
    with override_settings(HOME=home):
        branch = Branch(loop, home / "journal")
        workspace_id = str(workspace.pk)
        records = []
        for number in range(3):
            held = drive(loop, hold(branch.stores, workspace_id, 700), [branch])
            records.append(admitted(workspace_id, held))
            branch.stores.records.admitted(records[-1])
            if number == 0:
                branch.step()  # posted as open; the rest is in the journal alone
        end(branch.stores, records[1], 300)
        branch.stores.credits.close()
        branch.die()
        process = ServingProcess.objects.get()
        copy = tmp_path / "copies" / str(process.pk)
        copy.parent.mkdir()
        shutil.move(branch.writer.folder, copy)
        lease = timezone.now() - timedelta(hours=1)
        ServingProcess.objects.update(lease_until=lease, host="elsewhere")
        yield Dead(process.pk, home / "journal", copy, workspace)


def test_a_process_whose_journal_is_elsewhere_is_left_alone(dead: Dead) -> None:
    reaper = Reaper(watch_absent_s=0, journals_elsewhere=True)

    assert reaper.run() == reaper.run() == []

    assert reaper.out_of_reach == 1
    assert dead.process.state == "alive"
    assert dead.statuses() == ["in_progress"]
    assert Purse.objects.get().amount_nusd >= 3 * 700
    assert prove().breaks == []


def test_it_replays_its_journal_when_it_comes_back(dead: Dead) -> None:
    shutil.copytree(dead.copy, dead.folder)

    [reaped] = (
        Reaper(watch_absent_s=0, journals_elsewhere=True).run()
        or Reaper(watch_absent_s=0, journals_elsewhere=True).run()
    )

    assert reaped.process_id == dead.process_id
    assert_all_is_posted(dead, "reaped")


def assert_all_is_posted(dead: Dead, state: str) -> None:
    assert dead.process.state == state
    assert dead.statuses() == ["ok", "platform_aborted", "platform_aborted"]
    assert dead.wallet() == (9_700, 0)
    assert not Purse.objects.exists()
    assert prove().breaks == []


def test_a_copied_journal_is_adopted_once_and_nothing_is_posted_twice(dead: Dead) -> None:
    adopted = adopt_journal(dead.copy, actor=ACTOR)

    assert (adopted.aborted_calls, adopted.faults) == (2, 0)
    assert_all_is_posted(dead, "adopted")
    assert AuditEvent.objects.get(action="journal.adopt").actor == ACTOR
    with pytest.raises(ValueError, match="was adopted before"):
        adopt_journal(dead.copy, actor=ACTOR)
    dead.come_back()
    assert_all_is_posted(dead, "adopted")
    assert not dead.folder.exists()
    assert not JournalFault.objects.exists()


def test_an_adoption_that_was_interrupted_has_done_nothing_and_works_again(
    dead: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adopting, "record_audit", die)
        with pytest.raises(KeyboardInterrupt):
            adopt_journal(dead.copy, actor=ACTOR)
    assert dead.statuses() == ["in_progress"]

    adopt_journal(dead.copy, actor=ACTOR)

    assert_all_is_posted(dead, "adopted")


def test_the_command_says_what_it_did(dead: Dead, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("adopt_journal", str(dead.copy))

    told = capsys.readouterr().out
    assert "2 calls were running and are not charged" in told
    with pytest.raises(CommandError, match="was adopted before"):
        call_command("adopt_journal", str(dead.copy))


def shorten(dead: Dead, keep_bytes: int) -> None:
    [segment] = dead.copy.glob("*.journal")
    segment.write_bytes(segment.read_bytes()[:keep_bytes])


def damage(dead: Dead) -> None:
    [segment] = dead.copy.glob("*.journal")
    content = bytearray(segment.read_bytes())
    content[dead.process.drained_offset + 20] ^= 0x10
    segment.write_bytes(content)


def be_another(dead: Dead) -> None:
    other = dead.copy.with_name(str(new_id()))
    (dead.copy / LOCK_NAME).unlink()
    dead.copy.rename(other)
    dead.copy = other


def have_other_calls(dead: Dead) -> None:
    end_of_it = adopted_calls(dead)
    CallRecord.objects.filter(pk__in=end_of_it).update(process_id=new_id())


def adopted_calls(dead: Dead) -> list[UUID]:
    """Enter the calls that only the journal has as somebody else's."""
    call = CallRecord.objects.get()
    ids = [UUID(entry.call_id) for entry in unposted(dead)]
    for call_id in ids:
        call.pk, call.status = call_id, "ok"
        call.save(force_insert=not CallRecord.objects.filter(pk=call_id).exists())
    return ids


def unposted(dead: Dead) -> list[Any]:
    return [entry for entry, _ in read_records(dead.copy, position_of(dead.process))]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda dead: shorten(dead, 10), "ends before segment 0"),
        (lambda dead: shorten(dead, len(whole(dead)) - 3), "cut off"),
        (damage, "damaged or incomplete at segment 0"),
        (be_another, "knows no process"),
        (have_other_calls, "has calls of process"),
        (lambda dead: shutil.rmtree(dead.copy), "has no journal"),
        (lambda dead: heard_of(dead, 20), "may be alive. Try again in"),
        (lambda dead: ServingProcess.objects.update(state="reaped"), "settled by its own host"),
    ],
)
def test_what_is_not_the_whole_journal_of_a_dead_process_is_refused(
    dead: Dead, change: Any, words: str
) -> None:
    change(dead)
    before = list(CallRecord.objects.order_by("pk").values())

    with pytest.raises(ValueError, match=words):
        adopt_journal(dead.copy, actor=ACTOR)

    assert list(CallRecord.objects.order_by("pk").values()) == before


def whole(dead: Dead) -> bytes:
    [segment] = dead.copy.glob("*.journal")
    return segment.read_bytes().rstrip(b"\0")


def heard_of(dead: Dead, ago_s: int) -> None:
    end_lease(dead.process, ago_s=ago_s)


def test_a_journal_in_use_is_refused(dead: Dead) -> None:
    with in_use(dead.copy), pytest.raises(ValueError, match="its process is alive"):
        adopt_journal(dead.copy, actor=ACTOR)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    with (folder / LOCK_NAME).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_damaged_journal_is_adopted_when_that_is_accepted_and_the_rest_is_noted(
    dead: Dead,
) -> None:
    damage(dead)

    adopted = adopt_journal(dead.copy, actor=ACTOR, accepts_damage=True)

    assert adopted.faults == 1
    assert JournalFault.objects.get().kind == "damaged"
    assert prove().breaks == []


def test_a_journal_is_declared_lost_with_its_worst_case(dead: Dead) -> None:
    reserved_nusd = Purse.objects.get().amount_nusd
    budget = Budget.objects.create(pk=KEY_ID, drawn_nusd=900)
    Allotment.objects.create(budget=budget, process_id=dead.process_id, amount_nusd=900)

    worst = find_worst_case(dead.process_id)
    loss = declare_lost(dead.process_id, actor=ACTOR)

    assert (worst.open_calls, worst.held_nusd, worst.budgets_nusd) == (1, 700, 900)
    assert worst.reserved_nusd == loss.reserved_nusd == reserved_nusd
    assert (loss.open_calls, loss.held_nusd, loss.declared_by) == (1, 700, ACTOR)
    assert dead.statuses() == ["platform_aborted"]
    assert dead.wallet() == (10_000, 0)
    assert not Purse.objects.exists()
    assert not Allotment.objects.exists()
    assert Budget.objects.get().drawn_nusd == 0
    assert JournalFault.objects.get().kind == "lost"
    assert AuditEvent.objects.get(action="journal.declare_lost").actor == ACTOR
    assert prove().breaks == []


def test_a_journal_that_comes_back_after_that_is_kept_and_not_posted(dead: Dead) -> None:
    declare_lost(dead.process_id, actor=ACTOR)

    dead.come_back()

    loss = JournalLoss.objects.get()
    late = JournalFault.objects.get(kind="late")
    assert dead.statuses() == ["platform_aborted"]
    assert dead.wallet() == (10_000, 0)
    assert (loss.late_records, loss.late_cost_nusd) == (3, 300)
    assert late.records == 3
    assert not dead.folder.exists()
    assert (dead.journals.parent / late.file).is_dir()
    with pytest.raises(ValueError, match="was declared lost"):
        adopt_journal(dead.copy, actor=ACTOR)


def test_a_journal_that_comes_back_twice_is_kept_twice(dead: Dead) -> None:
    declare_lost(dead.process_id, actor=ACTOR)

    dead.come_back()
    dead.come_back()

    kept = sorted((dead.journals.parent / "quarantine").iterdir())
    assert [path.name for path in kept] == [
        f"journal-{dead.process_id}",
        f"journal-{dead.process_id}-2",
    ]
    assert JournalFault.objects.filter(kind="late").count() == 1


def test_records_that_a_copy_lacked_are_noted_when_the_journal_comes_back(dead: Dead) -> None:
    original = dead.copy.rename(dead.copy.with_name("original"))
    shutil.copytree(original, dead.copy)
    [segment] = dead.copy.glob("*.journal")
    last = unposted_end(dead)
    segment.write_bytes(segment.read_bytes()[:last])
    adopt_journal(dead.copy, actor=ACTOR)
    shutil.rmtree(dead.copy)
    original.rename(dead.copy)

    dead.come_back()

    assert JournalFault.objects.get().kind == "late"
    assert dead.statuses() == ["platform_aborted", "platform_aborted", "platform_aborted"]
    assert prove().breaks == []


def unposted_end(dead: Dead) -> int:
    """Return where the last record begins."""
    ends = [position for _, position in read_records(dead.copy, position_of(dead.process))]
    return ends[-2].offset


def test_a_journal_that_is_here_or_of_a_live_process_is_not_declared_lost(dead: Dead) -> None:
    heard_of(dead, 20)
    with pytest.raises(ValueError, match="may be alive"):
        declare_lost(dead.process_id, actor=ACTOR)
    heard_of(dead, 3_600)
    shutil.copytree(dead.copy, dead.folder)
    with pytest.raises(ValueError, match="is not lost"):
        declare_lost(dead.process_id, actor=ACTOR)


def test_the_command_states_the_worst_case_and_changes_nothing_without_consent(
    dead: Dead, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("declare_lost", str(dead.process_id))
    told = capsys.readouterr().out
    assert "1 open calls, which hold 0.0000007 USD" in told
    assert "add --accept-loss" in told
    assert dead.process.state == "alive"

    call_command("declare_lost", str(dead.process_id), "--accept-loss", "--json")

    assert '"declared": true' in capsys.readouterr().out
    assert dead.process.state == "lost"
