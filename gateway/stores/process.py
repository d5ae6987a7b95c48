"""A server process's place in the database: its row, its lease, its journal's folder.

A process holds a lock on a file in its journal's folder for as long as it lives; the kernel takes
the lock away with the process, whatever it died of, and a reused pid cannot fake it. Where the
lock cannot be seen (another host), the lease decides. Its moments are the database's: hosts need
not agree about the time, and a clock that is set back ends nobody. The file names the process, so
that a copy of the folder is known by it (gateway.services.adopting).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from accounts.ids import new_id, stored_id
from gateway.journal.file import Position
from gateway.models import ServingProcess
from gateway.stores.sole_process import refuse_company

LEASE = timedelta(seconds=30)
HEARTBEAT_S = 10.0
LOCK_NAME = "lock"

# Not through the ORM: to compose this takes it longer than a small batch does.
MOVE_POSITION = """
UPDATE gateway_servingprocess
SET drained_segment = %s, drained_offset = %s, heartbeat_at = {now}, lease_until = {lease_until}
WHERE state = 'alive' AND NOT overtaken
    AND id = %s AND drained_segment = %s AND drained_offset = %s
"""
# As Django writes Now() and Now() + LEASE.
_SQLITE_NOW = "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"
_MOMENTS = {
    "sqlite": {
        "now": _SQLITE_NOW,
        "lease_until": f"django_format_dtdelta('+', {_SQLITE_NOW}, 30000000)",
    },
    "postgresql": {
        "now": "STATEMENT_TIMESTAMP()",
        "lease_until": "STATEMENT_TIMESTAMP() + INTERVAL '30 seconds'",
    },
}


@dataclass(frozen=True, slots=True)
class Registration:
    """One session of a server process: id of its row, its journal's folder, its lock."""

    process_id: uuid.UUID
    folder: Path
    lock_file: int


@dataclass(frozen=True, slots=True)
class Company:
    """counts_alone: this process counts limits in its own memory. is_possible: other processes may
    use its database, and are looked for."""

    counts_alone: bool = False
    is_possible: bool = False


def register(journal_home: Path, company: Company) -> Registration:
    """Enter this process as alive and make its journal's folder.

    Raises OSError when the folder cannot be made, DatabaseError when the row cannot, CannotStart
    when another process is in the way.
    """
    process_id = new_id()
    folder = journal_home / str(process_id)
    folder.mkdir(mode=0o700, parents=True)
    lock_file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock_file, fcntl.LOCK_EX)
    os.write(lock_file, str(process_id).encode())
    try:
        with transaction.atomic():
            if company.is_possible:
                refuse_company(counts_alone=company.counts_alone)
            ServingProcess.objects.create(
                id=process_id,
                host=socket.gethostname(),
                home=str(settings.HOME)[:400],
                pid=os.getpid(),
                started_at=Now(),
                heartbeat_at=Now(),
                lease_until=Now() + LEASE,
                journal_path=_stored_path(folder),
                counts_alone=company.counts_alone,
            )
    except BaseException:
        os.close(lock_file)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Registration(process_id, folder, lock_file)


def folder_of(process: ServingProcess) -> Path:
    """Return where the process's journal is, also when the home was moved since it began.

    Processes of earlier versions have stored an absolute path.
    """
    home, path = Path(settings.HOME), Path(process.journal_path)
    here = home / "journal" / str(process.pk)
    if not process.journal_path or (path.is_absolute() and here.is_dir()):
        return here
    return home / path


def is_database_shared() -> bool:
    """True when other homes and hosts may use the database: their journals are not here."""
    file = settings.DATABASE_FILE
    return file is None or file.parent != settings.HOME


def renew_lease(process_id: uuid.UUID) -> bool:
    """Extend the lease. False when the process has been ended, has stopped, or was overtaken.

    Inside a transaction it also keeps a reaper out until the transaction ends.
    """
    alive = ServingProcess.objects.filter(
        pk=process_id, state=ServingProcess.State.ALIVE, overtaken=False
    )
    return alive.update(heartbeat_at=Now(), lease_until=Now() + LEASE) == 1


def move_position(process_id: uuid.UUID, old: Position, new: Position) -> bool:
    """Move the drained position from old to new; False when it is elsewhere or not alive.

    Counts as a heartbeat.
    """
    statement = MOVE_POSITION.format_map(_MOMENTS[connection.vendor])
    with connection.cursor() as cursor:
        cursor.execute(statement, (*new, stored_id(process_id), *old))
        return bool(cursor.rowcount == 1)


def is_drained_to(process_id: uuid.UUID, position: Position) -> bool:
    """True when the process is alive and its journal is drained exactly up to the position."""
    here = ServingProcess.objects.filter(
        pk=process_id, state=ServingProcess.State.ALIVE, **_place(position)
    )
    return here.exists()


def claim_end(process_id: uuid.UUID, state: ServingProcess.State, lease_until: datetime) -> bool:
    """Turn a process that is alive into one that has ended. Only one claimant gets True.

    lease_until: what the claimant has seen; a process that has renewed since is left alone.
    """
    alive = ServingProcess.objects.filter(
        pk=process_id, state=ServingProcess.State.ALIVE, lease_until=lease_until
    )
    return alive.update(state=state, ended_at=Now()) == 1


def position_of(process: ServingProcess) -> Position:
    """Return how far the journal was drained when the process was read."""
    return Position(process.drained_segment, process.drained_offset)


def set_position(process_id: uuid.UUID, position: Position) -> None:
    """Record how far the journal of an ended process was drained."""
    ServingProcess.objects.filter(pk=process_id).update(**_place(position))


def is_here(host: str) -> bool:
    """True when the host is this one, so that a process's lock can be tried."""
    return host == socket.gethostname()


def is_locked(folder: Path) -> bool:
    """True while the process that owns the journal's folder lives on this host.

    A folder that is gone says nothing either way and counts as locked: the lease decides.
    """
    try:
        lock_file = os.open(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        return True
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock_file)
    return False


def _place(position: Position) -> dict[str, int]:
    return {"drained_segment": position.segment, "drained_offset": position.offset}


def _stored_path(folder: Path) -> str:
    home = Path(settings.HOME)
    return str(folder.relative_to(home) if folder.is_relative_to(home) else folder)
