"""Keeps SQLite's write-ahead log short.

The log can begin anew only when nobody reads from it, and its file never gets shorter by itself.
Beside readers that follow each other it grows, and then the checkpoint at the end takes so long
that calls wait for it. So the background worker looks at its size every few seconds.
"""

from __future__ import annotations

import logging
from pathlib import Path

from django.conf import settings
from django.db import connection

log = logging.getLogger(__name__)

# Readers of a long log are slow. Well above what a busy second writes (10 MB).
LIMIT_BYTES = 64 * 1024 * 1024
# No one can write while we wait for readers of the old log.
BUSY_TIMEOUT_MS = 100


def checkpoint(*, limit_bytes: int = LIMIT_BYTES) -> bool:
    """Return whether the log was longer than the limit and now is empty.

    What it holds is moved to the database while others read and write; only the rest, and the wait
    for readers, keeps writers out, for BUSY_TIMEOUT_MS at the most.
    """
    if connection.vendor != "sqlite" or _log_bytes() <= limit_bytes:
        return False
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (usual_ms,) = cursor.fetchone()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            is_busy, *_ = cursor.fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual_ms}")
    if is_busy:
        log.info("the write-ahead log (%s MB) is being read", _log_bytes() // 1_000_000)
    return not is_busy


def _log_bytes() -> int:
    """Return how long the log is, 0 when there is none."""
    name = str(connection.settings_dict["NAME"])
    file: Path | None = settings.DATABASE_FILE
    if file is None or not name.startswith("file:"):
        file = Path(settings.HOME) / name
    try:
        return int(file.with_name(f"{file.name}-wal").stat().st_size)
    except FileNotFoundError:
        return 0
