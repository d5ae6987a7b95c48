"""Is this folder the journal of a dead process, as it was left? Asked before it is adopted."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from gateway.journal.file import Position, end_of, reaches, read_records, segments_in
from gateway.journal.record import Admitted, Damage, Settled
from gateway.models import CallRecord
from gateway.stores.process import LOCK_NAME

CHUNK = 500


class JournalRefused(ValueError):
    """The folder is not a journal that can be adopted. The message says why, and what to do."""


def process_of(folder: Path) -> uuid.UUID:
    """Return the process that the journal belongs to, by its lock file or else by its name.

    Raises JournalRefused when neither says, or one contradicts the other.
    """
    if not folder.is_dir() or not segments_in(folder):
        raise JournalRefused(
            f"{folder} has no journal. Name the folder of one process, such as journal/<process>."
        )
    named, written = _as_id(folder.name), _as_id(_read_lock(folder))
    if named and written and named != written:
        raise JournalRefused(
            f"{folder} has the journal of process {written}, not of the one that it is named after."
        )
    process_id = written or named
    if process_id is None:
        raise JournalRefused(
            f"{folder} does not say which process it belongs to. Give the folder the process's ID "
            "as its name, as it had in the home."
        )
    return process_id


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep its process from the journal meanwhile. Raises JournalRefused while that has it."""
    try:
        lock_file = os.open(folder / LOCK_NAME, os.O_RDONLY)
    except OSError:  # a copy without it
        yield
        return
    try:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # a share may be read-only
        except BlockingIOError:
            raise JournalRefused(f"{folder} is in use: its process is alive.") from None
        yield
    finally:
        os.close(lock_file)


def check_journal(
    process_id: uuid.UUID, folder: Path, start: Position, *, accepts_damage: bool
) -> None:
    """Read the part that is not posted yet. Raises JournalRefused unless all of it is there, whole,
    and about calls of this process.

    accepts_damage: allow parts that cannot be read. What was posted has to be there in any case.
    """
    if not reaches(folder, start):
        raise JournalRefused(
            f"The journal ends before segment {start.segment}, byte {start.offset}, up to which it "
            "is posted. The copy is not complete, or older than the end of its process."
        )
    reader = read_records(folder, start)
    end = start
    while chunk := list(islice(reader, CHUNK)):
        entries, end = [entry for entry, _ in chunk], chunk[-1][1]
        damages = [entry for entry in entries if isinstance(entry, Damage)]
        if damages and not accepts_damage:
            place = f"segment {damages[0].segment}, byte {damages[0].start}"
            raise JournalRefused(f"The journal is damaged or incomplete at {place}. {_REMEDY}")
        # A refusal may be counted on the row of the process's session before this one.
        ids = [entry.call_id for entry in entries if isinstance(entry, Admitted | Settled)]
        _check_calls(process_id, ids)
    if end_of(folder) > end and not accepts_damage:
        raise JournalRefused(f"The last record of the journal is cut off. {_REMEDY}")


_REMEDY = (
    "Copy the folder again. If it is like that on the host, too, add --accept-damage: the rest is "
    "posted, and what cannot be read is noted."
)


def _check_calls(process_id: uuid.UUID, ids: list[str]) -> None:
    known = CallRecord.objects.filter(pk__in=set(ids)).exclude(process_id=process_id)
    other = known.values_list("process_id", flat=True).first()
    if other is not None:
        raise JournalRefused(f"The journal has calls of process {other}, not of {process_id}.")


def _read_lock(folder: Path) -> str:
    """Return what the lock file says; nothing in journals of earlier versions."""
    try:
        return (folder / LOCK_NAME).read_text()[:100]
    except (OSError, ValueError):
        return ""


def _as_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
