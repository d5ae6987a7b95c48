"""One session of a server process: its row, lock, journal and purses, and how far it drained."""

from __future__ import annotations

import os
from pathlib import Path

from gateway.journal.file import START, JournalWriter
from gateway.models import ServingProcess
from gateway.stores.process import Company, register
from gateway.stores.reaping import end_process
from gateway.stores.wallet_client import WalletClient


class ProcessSession:
    """Begins with a row in the database and ends with end() or, for the dead, release_files()."""

    def __init__(self, journal_home: Path, company: Company) -> None:
        """Raises DatabaseError, OSError or CannotStart when the process cannot be entered."""
        self._registration = register(journal_home, company)
        self.process_id = self._registration.process_id
        self.folder = self._registration.folder
        self.journal = JournalWriter(self.folder)
        self.wallet_client = WalletClient(self.process_id)
        self.drained = START
        self._is_over = False

    def end(self) -> None:
        """Leave the database properly: purses returned, journal posted and removed. Where another
        has ended the process, only let go of the files.

        Raises DatabaseError when that has to be tried again.
        """
        process = ServingProcess.objects.filter(
            pk=self.process_id, state=ServingProcess.State.ALIVE
        ).first()
        if process is not None:
            end_process(process, ServingProcess.State.STOPPED)
        self.release_files()

    def release_files(self) -> None:
        """Let go of the files, once; a reaper may have the rest."""
        if self._is_over:
            return
        self._is_over = True
        self.journal.close()
        os.close(self._registration.lock_file)
