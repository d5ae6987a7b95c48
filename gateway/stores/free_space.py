"""Watch the free disk space: when it runs short, no more calls are admitted.

What is left then is for the ends of running calls: for the journal, and for the database, which
fails in worse ways when a disk is full.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
BYTES_PER_MB = 1024 * 1024


class FreeSpace:
    """Looks after the disk of one folder. is_short: as it was at the last look."""

    def __init__(self, folder: Path, least_mb: int, least_percent: int) -> None:
        """Too little is less than least_mb, or less than least_percent of the disk."""
        self._folder = folder
        self._least_bytes = least_mb * BYTES_PER_MB
        self._least_percent = least_percent
        self._next_look_s = 0.0
        self.is_short = False
        self.trouble = ""

    def look(self) -> bool:
        """Look when that is due, for one thread; True when too little is free. Logs each change."""
        now_s = time.monotonic()
        if now_s < self._next_look_s:
            return self.is_short
        self._next_look_s = now_s + LOOK_EVERY_S
        try:
            disk = os.statvfs(self._folder)
        except OSError as error:  # says nothing about the room
            log.warning("the free space cannot be read: %s", error)
            return self.is_short
        free_bytes = disk.f_bavail * disk.f_frsize
        least_bytes = max(
            self._least_bytes, disk.f_blocks * disk.f_frsize * self._least_percent // 100
        )
        is_short = free_bytes < least_bytes
        self.trouble = (
            f"The disk has {free_bytes // BYTES_PER_MB} MB free, less than the "
            f"{least_bytes // BYTES_PER_MB} MB kept for calls that run."
        )
        if is_short != self.is_short:
            self.is_short = is_short
            if is_short:
                log.critical("%s No calls are admitted.", self.trouble)
            else:
                log.warning("The disk has enough free space: calls are admitted again.")
        return is_short
