"""The database is away for so long that records are read back from a journal with a flipped bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.models import Workspace
from gateway.journal.file import read_records
from gateway.journal.record import Settled
from gateway.models import CallRecord, JournalFault
from gateway.services.proving import prove
from gateway.stores import backlog
from tests.money.branch import Branch, SteppedLoop, drive, locked_database
from tests.money.office import admitted, end, hold

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = 40


def flip_in_end_of(folder: Path, call_id: str) -> None:
    [segment] = folder.glob("*.journal")
    for entry, position in read_records(folder):
        if isinstance(entry, Settled) and entry.call_id == call_id:
            content = bytearray(segment.read_bytes())
            with segment.open("r+b") as file:  # in place: the process has it in its memory
                file.seek(position.offset - 40)
                file.write(bytes([content[position.offset - 40] ^ 0x04]))


def test_a_flipped_bit_costs_one_record_of_those_that_are_read_back(
    loop: SteppedLoop,
    workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(backlog, "KEPT_IN_MEMORY", 10)
    monkeypatch.setattr(backlog, "BATCH", 10)
    branch = Branch(loop, tmp_path)
    held = [
        drive(loop, hold(branch.stores, str(workspace.pk), 100), [branch]) for _ in range(CALLS)
    ]
    records = [admitted(str(workspace.pk), amount) for amount in held]
    with locked_database():
        for record in records:
            branch.stores.records.admitted(record)
            end(branch.stores, record, 10)
        branch.sync()
        assert not branch.step()  # all but the first batch is in the journal alone now
    lost = records[CALLS // 2].call_id
    flip_in_end_of(branch.writer.folder, lost)

    for _ in range(2 * CALLS // 10 + 2):
        assert branch.step()
    folder = branch.writer.folder
    branch.stop()

    ended = CallRecord.objects.filter(status="ok")
    assert ended.count() == CALLS - 1
    assert CallRecord.objects.get(pk=lost).status == "platform_aborted"
    fault = JournalFault.objects.get()
    assert (fault.kind, fault.records) == ("damaged", 1)
    assert "cannot be read" in caplog.text
    assert [path.suffix for path in folder.iterdir()] == [".damaged"]
    assert prove().breaks == []
