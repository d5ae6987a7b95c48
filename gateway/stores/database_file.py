"""Check that the database's file is still the one that this process has open.

SQLite goes on reading and writing a file that was moved or deleted, and a connection made later
uses whatever has its name by then. What was posted there would not be where people look for it.
"""

from __future__ import annotations

import logging
import os
import time

from django.db import OperationalError, connection

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.25
MISSING = "The database file is missing."
REPLACED = "The database file was replaced after the start."


class DatabaseFile:
    """Looks after the file of a process's database. Other databases than SQLite have none."""

    def __init__(self) -> None:
        self._seen = ""
        self._next_look_s = 0.0
        self._path = ""
        self._identity = (0, 0)

    def note(self) -> None:
        """Take the file of the open connection for the right one. Later calls change nothing."""
        if self._path or connection.vendor != "sqlite":
            return
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA database_list")
            path = str(cursor.fetchone()[2])
        if path:
            facts = os.stat(path)
            self._path, self._identity = path, (facts.st_dev, facts.st_ino)

    def trouble(self) -> str:
        """Return what is wrong with the file, in a sentence, or "". Any thread may ask."""
        if not self._path:
            return ""
        try:
            facts = os.stat(self._path)
        except OSError:
            return MISSING
        return "" if (facts.st_dev, facts.st_ino) == self._identity else REPLACED

    def look(self) -> bool:
        """Look when that is due, for one thread; True when it has just found something wrong, which
        says nothing of the time until the next look. Logs each change."""
        now_s = time.monotonic()
        if now_s < self._next_look_s:
            return False
        self._next_look_s = now_s + LOOK_EVERY_S
        trouble = self.trouble()
        if trouble != self._seen:
            self._seen = trouble
            if trouble:
                remedy = "Restart to use it" if trouble == REPLACED else "Restore it"
                log.critical("%s No calls are admitted. %s. (%s)", trouble, remedy, self._path)
            else:
                log.warning("The database file is back: calls are admitted again.")
        return bool(trouble)

    def check(self) -> None:
        """Raises OperationalError while the file is not the right one."""
        if trouble := self.trouble():
            raise OperationalError(trouble)
