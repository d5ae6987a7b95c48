"""Journals that come back after they were adopted or declared lost: nothing of them is posted.

A host that returns finds in its home the journal that another host has replayed from a copy, or
that an operator has given up. What is in the database already is removed here. What is not is
counted, noted as a fault, and kept in quarantine: its calls have ended without a charge.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gateway.core.money import format_usd
from gateway.journal.file import Position, end_of, read_records
from gateway.journal.record import Damage, Settled
from gateway.models import JournalFault, JournalLoss, ServingProcess
from gateway.stores.journal_faults import FOLDER
from gateway.stores.process import LOCK_NAME, position_of

log = logging.getLogger(__name__)

State = ServingProcess.State


@dataclass(frozen=True, slots=True)
class Late:
    """What a journal has that was not posted. cost_nusd: of the calls that ended."""

    records: int = 0
    cost_nusd: int = 0


def set_late_journals_aside(journal_home: Path) -> None:
    """Look at the journals here whose processes were ended without them. Raises DatabaseError."""
    for folder in sorted(journal_home.glob("*/")):
        with _held(folder) as is_ours:
            process = _find_given_up(folder) if is_ours else None
            if process is not None:
                _set_aside(process, folder)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold the journal's lock. False: its process lives, or another looks at it just now."""
    try:
        lock_file = os.open(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        yield folder.exists()  # a copy without its lock
        return
    try:
        yield _is_free(lock_file) and folder.exists()
    finally:
        os.close(lock_file)


def _is_free(lock_file: int) -> bool:
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _find_given_up(folder: Path) -> ServingProcess | None:
    try:
        process_id = uuid.UUID(folder.name)
    except ValueError:
        return None
    ended = ServingProcess.objects.filter(pk=process_id, state__in=[State.ADOPTED, State.LOST])
    return ended.first()


def _set_aside(process: ServingProcess, folder: Path) -> None:
    position = position_of(process)
    late = _count(folder, position)
    is_whole = end_of(folder) <= position
    with transaction.atomic():
        if not is_whole:
            _note(process, late)
        JournalLoss.objects.filter(pk=process.pk, returned_at=None).update(
            returned_at=timezone.now(),
            late_records=late.records,
            late_cost_nusd=late.cost_nusd,
        )
    if is_whole:
        log.warning("journal %s was posted elsewhere; it is removed", folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        return
    folder.rename(_free_place(folder.name))


def _free_place(name: str) -> Path:
    """Return where to keep the journal: beside the former one if it came back twice."""
    kept = Path(settings.HOME) / FOLDER
    kept.mkdir(mode=0o700, exist_ok=True)
    target, number = kept / f"journal-{name}", 1
    while target.exists():
        number += 1
        target = kept / f"journal-{name}-{number}"
    return target


def _count(folder: Path, position: Position) -> Late:
    records = cost_nusd = 0
    for entry, _ in read_records(folder, position):
        records += entry.records if isinstance(entry, Damage) else 1
        if isinstance(entry, Settled):
            cost_nusd += entry.receipt.charge_nusd + entry.receipt.absorbed_nusd
    return Late(records, cost_nusd)


def _note(process: ServingProcess, late: Late) -> None:
    """Note it once, however often this is interrupted."""
    kind = JournalFault.Kind.LATE
    if JournalFault.objects.filter(process_id=process.pk, kind=kind).exists():
        return
    how = "adopted" if process.state == State.ADOPTED else "declared lost"
    reason = (
        f"The journal came back after it was {how}. The calls in it ended without a charge; "
        f"they cost {format_usd(late.cost_nusd)} USD."
    )
    log.error("journal of process %s: %s records are not posted: %s", process, late.records, reason)
    JournalFault.objects.create(
        kind=kind,
        process_id=process.pk,
        segment=process.drained_segment,
        start_byte=process.drained_offset,
        records=late.records,
        reason=reason,
        file=f"{FOLDER}/journal-{process.pk}",
        found_at=timezone.now(),
    )
