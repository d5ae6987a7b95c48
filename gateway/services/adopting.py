"""Replay the journal of a dead process of another host, from a shared or copied folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction

from accounts.changes import record_audit
from gateway.journal.file import end_of
from gateway.models import JournalFault, ServingProcess
from gateway.services.dead_processes import find_dead
from gateway.stores.journal_check import JournalRefused, check_journal, held, process_of
from gateway.stores.process import claim_end, position_of
from gateway.stores.reaping import replay


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was done. faults: parts of the journal that could not be posted as written."""

    process: ServingProcess
    records: int
    aborted_calls: int
    returned_nusd: int
    faults: int


def adopt_journal(folder: Path, *, actor: str, accepts_damage: bool = False) -> Adopted:
    """Post what the journal has that is not in the database yet, and end its process.

    All in one transaction: interrupted, it has done nothing. The folder stays as it is.
    accepts_damage: post what can be read of a damaged journal, and note the rest as faults.
    Raises ValueError when the journal cannot be adopted, DatabaseError.
    """
    folder = folder.resolve()
    process_id = process_of(folder)
    with held(folder), transaction.atomic():
        process = find_dead(process_id)
        start = position_of(process)
        check_journal(process_id, folder, start, accepts_damage=accepts_damage)
        before = end_of(folder)
        if not claim_end(process_id, ServingProcess.State.ADOPTED, process.lease_until):
            raise JournalRefused(f"Process {process_id} has ended, or is alive again.")
        _, replayed = replay(process_id, folder, start)
        if end_of(folder) != before:
            raise JournalRefused(f"{folder} was written to meanwhile. Nothing was posted.")
        faults = _count_faults(process_id)
        record_audit(
            actor=actor,
            action="journal.adopt",
            target=f"{process.host}:{process.pid}",
            details={
                "process": str(process_id),
                "records": replayed.records,
                "aborted_calls": replayed.aborted_calls,
                "returned_nusd": replayed.returned_nusd,
            },
        )
    return Adopted(
        process, replayed.records, replayed.aborted_calls, replayed.returned_nusd, faults
    )


def _count_faults(process_id: UUID) -> int:
    return JournalFault.objects.filter(process_id=process_id).count()
