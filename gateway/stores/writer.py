"""The one thread of a process that writes to the database.

One writer with large transactions is what SQLite likes best, and it keeps draws, returns and
batches of one process in one order. It never dies and never gives up: what the database did not
take stays in memory and in the journal and is tried again.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from django.db import Error as DatabaseAway
from django.db import OperationalError, connection

from gateway.core.errors import DatabaseUnavailable, PlatformError, StorageUnavailable
from gateway.stores.backlog import Backlog
from gateway.stores.client import Client
from gateway.stores.database_file import DatabaseFile
from gateway.stores.free_space import FreeSpace
from gateway.stores.jobs import Jobs
from gateway.stores.process import Company
from gateway.stores.stall_monitor import StallMonitor
from gateway.stores.writer_inbox import Question, WriterInbox
from gateway.stores.writer_steps import DRAIN_EVERY_S, WriterSteps

log = logging.getLogger(__name__)

SYNC_EVERY_S = 0.04
RETRY_S = 0.25
STOP_WITHIN_S = 10.0
IDS_SHOWN = 100
OPEN_TRIES = 5
DEADLOCK = "40P01"  # PostgreSQL ended this transaction, and the other program has what it wanted


class Writer:
    """Runs the thread that takes the steps, and one that keeps the journal durable.

    inbox: what to do next. steps: how it is done; its methods are for the writer's thread.
    """

    def __init__(
        self,
        journal_home: Path,
        space: FreeSpace | None = None,
        *,
        company: Company | None = None,
    ) -> None:
        """journal_home: the folder that gets a folder per process (HOME / "journal"). company: what
        other processes may be to this one; by default nobody looks."""
        self._space = space or FreeSpace(journal_home, 0, 0)
        self._file = DatabaseFile()
        self._stalls = StallMonitor()
        self._jobs = Jobs()
        self.inbox = WriterInbox()
        self.steps = WriterSteps(
            *(journal_home, self.inbox, self._jobs, self._file, self._stalls),
            company=company or Company(),
        )
        self._thread = threading.Thread(target=self._run, name="database-writer", daemon=True)
        self._syncer = threading.Thread(target=self._sync, name="journal-sync", daemon=True)
        self._opened = threading.Event()
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._trouble = ""

    @property
    def process_id(self) -> uuid.UUID:
        return self.steps.session.process_id

    @property
    def backlog(self) -> Backlog:
        """Where records go. Another one when the process begins another session."""
        return self.steps.backlog

    def start(self, client: Client) -> None:
        """Enter the process in the database and start; raises what prevented that."""
        self.steps.client = client
        self._thread.start()
        self._opened.wait()
        if self._failure is not None:
            raise self._failure
        self._space.look()
        self._syncer.start()

    def stop(self) -> None:
        """Post what there is, return the purses, end the threads. Blocks for up to 10 s."""
        self._ending.set()
        self.inbox.wake()
        for thread in (self._thread, self._syncer):
            if thread.is_alive():
                thread.join()

    def is_in_doubt(self, at: float) -> bool:
        """True after a long stop, until it is known that nobody ended this process meanwhile, and
        while the disk is nearly full: no call may begin.

        at: now, in seconds since the epoch.
        """
        return self._stalls.is_in_doubt(at) or self._space.is_short

    @property
    def is_disk_short(self) -> bool:
        """True while the disk is nearly full: no call is admitted."""
        return self._space.is_short

    @property
    def outage(self) -> PlatformError | None:
        """Why no call can begin now, or None: the journal or the database's file is at fault."""
        if not self._opened.is_set() or self._failure is not None:
            return None
        failure = self.steps.session.journal.failure
        if failure is not None:
            problem = "The disk lost data that was written to it. No calls are admitted."
            return StorageUnavailable(problem, detail=str(failure))
        if self._space.is_short:
            return StorageUnavailable(f"{self._space.trouble} No calls are admitted.")
        if trouble := self._file.trouble():
            return DatabaseUnavailable(f"{trouble} No calls are admitted.")
        return None

    def ask(self, question: Question) -> None:
        """Run the question in the thread between two batches, once all records are posted that
        there are now. It gets the number of this session's posted records and must not raise."""
        self.inbox.ask(self.backlog.appended, question)

    def run(self, query: Callable[..., object], *arguments: object) -> Future[object]:
        """Run a query once in the thread, where it waits for no other lock of this process."""
        future = self._jobs.put(query, *arguments)
        if self._ending.is_set():
            self._jobs.fail(DatabaseAway("the server is stopping"))
        self.inbox.wake()
        return future

    def mark(self) -> Callable[[], bool]:
        """Return a function that tells whether all records there are now are posted, or never
        will be, as another process has ended this session."""
        backlog = self.backlog
        after = backlog.appended
        return lambda: backlog.posted >= after or backlog is not self.backlog

    # The threads

    def _run(self) -> None:
        try:
            self._open()
        except Exception as error:
            self._failure = error
            return
        finally:
            self._opened.set()
        while not self._ending.is_set():
            self._step_safely()
        self._finish_safely()
        self._jobs.fail(DatabaseAway("the server is stopping"))
        connection.close()

    def _open(self) -> None:
        """Begin a session, again where PostgreSQL ended a deadlock. Raises what prevents it."""
        for number in range(1, OPEN_TRIES + 1):
            try:
                self.steps.open()
                return
            except OperationalError as error:
                sqlstate = getattr(error.__cause__, "sqlstate", None)
                if sqlstate != DEADLOCK or number == OPEN_TRIES:
                    raise
                log.warning("the start is tried again: %r", error)

    def _step_safely(self) -> None:
        """Wait for the next thing to do and do it; whatever goes wrong is tried again."""
        pause_s = max(0.0, min(self.steps.next_drain - time.monotonic(), DRAIN_EVERY_S))
        self.inbox.wait(pause_s)
        now = time.monotonic()
        drains = now >= self.steps.next_drain
        try:
            self.steps.step(now)
            if drains:
                self._report(None)
        except Exception as error:
            self._report(error)
            self._jobs.fail(DatabaseAway(repr(error)))
            connection.close()
            self.steps.next_drain = time.monotonic() + RETRY_S

    def _finish_safely(self) -> None:
        deadline = time.monotonic() + STOP_WITHIN_S
        while True:
            try:
                self.steps.finish()
                return
            except Exception as error:
                self._report(error)
                connection.close()
            if time.monotonic() > deadline:
                log.error("stopped without the database; the journal is replayed at the next start")
                self._report_unkept()
                return
            time.sleep(RETRY_S)

    def _report_unkept(self) -> None:
        """Tell what is neither in the database nor in a journal that can be trusted."""
        self.backlog.keep_durable()
        if self.steps.session.journal.failure is not None:
            ids = self.backlog.unkept()
            log.critical("%s records are not in a durable file: %s", len(ids), ids[:IDS_SHOWN])

    def _report(self, error: Exception | None) -> None:
        """Log the beginning and the end of trouble, not every try."""
        if error is None:
            if self._trouble:
                log.warning("the database answers again")
            self._trouble = ""
            return
        if repr(error) != self._trouble:
            away = isinstance(error, DatabaseAway)
            log.error("the database writer tries again: %r", error, exc_info=not away)
        self._trouble = repr(error)

    def _sync(self) -> None:
        self._stalls.begin()
        while not self._ending.wait(SYNC_EVERY_S):
            self._stalls.look()
            self.backlog.keep_durable()
            self._space.look()
            if self._file.look():
                self._stalls.add_doubt()  # until the lease was renewed in the right file
