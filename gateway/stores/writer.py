"""The one thread of a process that writes to the database.

One writer with large transactions is what SQLite likes best, and it keeps draws, returns and
batches of one process in one order. It never dies and never gives up: what the database did not
take stays in memory and in the journal and is tried again.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from django.db import Error as DatabaseAway
from django.db import connection

from gateway.core.errors import DatabaseUnavailable, PlatformError, StorageUnavailable
from gateway.journal.record import Record, Refused
from gateway.stores.backlog import Backlog
from gateway.stores.client import Client
from gateway.stores.clock import steady_s
from gateway.stores.database_file import DatabaseFile
from gateway.stores.drain import Fenced
from gateway.stores.free_space import FreeSpace
from gateway.stores.jobs import Jobs
from gateway.stores.process import HEARTBEAT_S, renew_lease
from gateway.stores.process_session import ProcessSession
from gateway.stores.queries import wait_briefly
from gateway.stores.reaping import Reaper
from gateway.stores.wallet_client import Draw, GiveBack

log = logging.getLogger(__name__)

DRAIN_EVERY_S = 0.1
SYNC_EVERY_S = 0.04
REAP_EVERY_S = 5.0
RETRY_S = 0.25
STOP_WITHIN_S = 10.0
# Who was stopped for longer (SIGSTOP, a machine put to sleep) may have been taken for dead. Well
# below what a reaper waits for: the rest of a lease, and a while.
SLEEP_S = 15.0
# Pages of indexes that calls of many keys are written to; SQLite's own 2 MB are soon too few.
CACHE_KB = 8_000
IDS_TOLD = 100


class Writer:
    """Runs the thread, and does one step of its work at a time: see `step`."""

    def __init__(self, journal_home: Path, space: FreeSpace | None = None) -> None:
        self._journal_home = journal_home
        self._space = space or FreeSpace(journal_home, 0, 0)
        self._wishes: SimpleQueue[Draw | GiveBack | str | None] = SimpleQueue()
        self._questions: SimpleQueue[tuple[int, Callable[[int], None]]] = SimpleQueue()
        self._jobs = Jobs()
        self._audits: set[str] = set()
        self._reaper = Reaper()
        self._thread = threading.Thread(target=self._run, name="database-writer", daemon=True)
        self._syncer = threading.Thread(target=self._sync, name="journal-sync", daemon=True)
        self._opened = threading.Event()
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._fenced = False
        self._trouble = ""
        self._file = DatabaseFile()
        self._awake_at = self._awake_s = math.inf  # when the syncer last ran, by either clock
        self._sleeps = self._outlived = 0
        self._postponed: list[GiveBack] = []
        self._first: Draw | GiveBack | str | None = None
        self._next_drain = self._next_beat = self._next_reap = 0.0
        self._client: Client
        self._session: ProcessSession
        self._backlog: Backlog

    # From the client's thread

    @property
    def process_id(self) -> uuid.UUID:
        return self._session.process_id

    def start(self, client: Client) -> None:
        """Enter the process in the database and start; raises what prevented that."""
        self._client = client
        self._thread.start()
        self._opened.wait()
        if self._failure is not None:
            raise self._failure
        self._space.look()
        self._syncer.start()

    def stop(self) -> None:
        """Post what there is, return the purses, end the threads. Blocks for up to 10 s."""
        self._ending.set()
        self._wishes.put(None)
        for thread in (self._thread, self._syncer):
            if thread.is_alive():
                thread.join()

    def append(self, record: Record) -> None:
        self._backlog.append(record)

    def append_surely(self, record: Record) -> None:
        self._backlog.append_surely(record)

    def append_refusal(self, record: Refused) -> None:
        self._backlog.append_refusal(record)

    @property
    def appended(self) -> int:
        """How many records this session of the process was given."""
        return self._backlog.appended

    def is_in_doubt(self, at: float) -> bool:
        """True after a long stop, until it is known that nobody ended this process meanwhile, and
        while the disk is nearly full: no call may begin.

        at: now, in seconds since the epoch. A clock that was set raises no doubt.
        """
        if at - self._awake_at > SLEEP_S and steady_s() - self._awake_s > SLEEP_S:
            return True
        return self._sleeps != self._outlived or self._space.is_short

    @property
    def outage(self) -> PlatformError | None:
        """Why no call can begin now, or None: the journal or the database's file is at fault."""
        if not self._opened.is_set() or self._failure is not None:
            return None
        failure = self._session.journal.failure
        if failure is not None:
            problem = "The disk has failed to keep what was written to it. No calls are admitted."
            return StorageUnavailable(problem, detail=str(failure))
        if self._space.is_short:
            return StorageUnavailable(f"{self._space.trouble} No calls are admitted.")
        if trouble := self._file.trouble():
            return DatabaseUnavailable(f"{trouble} No calls are admitted.")
        return None

    def ask(self, question: Callable[[int], None]) -> None:
        """Run the question in the thread between two batches, once all records are posted that
        there are now. It gets the number of this session's posted records and must not raise."""
        self._questions.put((self._backlog.appended, question))
        self._wishes.put(None)

    def run(self, query: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Run a query once in the thread, where it waits for no other lock of this process."""
        future = self._jobs.put(query, *arguments)
        if self._ending.is_set():
            self._jobs.fail(DatabaseAway("the server is stopping"))
        self._wishes.put(None)
        return future

    def mark(self) -> Callable[[], bool]:
        """Return a function that tells whether all records there are now are posted, or never
        will be, as another process has ended this session."""
        backlog, after = self._backlog, self._backlog.appended
        return lambda: backlog.posted >= after or backlog is not self._backlog

    def wish(self, wish: Draw | GiveBack) -> None:
        self._wishes.put(wish)

    def call_back(self, workspace_id: str) -> None:
        """Ask other processes for what they have idle of this workspace's money."""
        self._wishes.put(workspace_id)

    def wake(self) -> None:
        """Look at once whether the client may rejoin."""
        self._wishes.put(None)

    # The thread

    def open(self) -> None:
        """Begin a session, after ending those of dead processes."""
        self._connect()
        self._reaper.run()
        self._session = ProcessSession(self._journal_home)
        self._backlog = Backlog(self._session)
        now = time.monotonic()
        self._next_beat, self._next_reap = now + HEARTBEAT_S, now + REAP_EVERY_S

    def step(self, now: float) -> None:
        """Do everything that is due. Raises DatabaseAway when the database does not answer."""
        draws, returns, recalls = self._take_wishes()
        try:
            self._connect()
        except BaseException:
            self._postponed = returns
            self._fail(draws)
            raise
        if self._fenced:
            self._jobs.fail(DatabaseAway("this process was declared dead"))
            self._rejoin()
            return
        try:
            self._serve(draws, returns)
            self._jobs.run()
            for workspace_id in recalls:
                self._session.wallet_client.call_back(workspace_id)
            self._answer()
            if now >= self._next_drain:
                self._next_drain = now + DRAIN_EVERY_S
                self._backlog.drain()
            sleeps = self._sleeps
            if now >= self._next_beat or sleeps != self._outlived:
                if not renew_lease(self._session.process_id):
                    raise Fenced(str(self._session.process_id))
                self._file.check()  # a lease in a file that was moved meanwhile proves nothing
                self._next_beat = now + HEARTBEAT_S
                self._outlived = sleeps
        except Fenced:
            self._be_fenced()
        if now >= self._next_reap:
            self._next_reap = now + REAP_EVERY_S
            if self._reaper.run():
                self._deliver(self._client.on_reaped)

    def finish(self) -> None:
        """Post the rest and leave. Raises DatabaseAway when that has to be tried again."""
        self._connect()
        _, returns, _ = self._take_wishes()
        if self._fenced:
            self._session.release_files()
            return
        try:
            self._serve([], returns)
            self._jobs.run()
            while not self._backlog.is_empty:
                self._backlog.drain()
            self._session.end()
        except Fenced:
            self._session.release_files()

    def _run(self) -> None:
        try:
            self.open()
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

    def _step_safely(self) -> None:
        """Wait for the next thing to do and do it; whatever goes wrong is tried again."""
        pause_s = max(0.0, min(self._next_drain - time.monotonic(), DRAIN_EVERY_S))
        with suppress(Empty):
            self._first = self._wishes.get(timeout=pause_s)
        now = time.monotonic()
        drains = now >= self._next_drain
        try:
            self.step(now)
            if drains:
                self._report(None)
        except Exception as error:
            self._report(error)
            self._jobs.fail(DatabaseAway(repr(error)))
            connection.close()
            self._next_drain = time.monotonic() + RETRY_S

    def _finish_safely(self) -> None:
        deadline = time.monotonic() + STOP_WITHIN_S
        while True:
            try:
                self.finish()
                return
            except Exception as error:
                self._report(error)
                connection.close()
            if time.monotonic() > deadline:
                log.error("left without the database; the journal is replayed at the next start")
                self._report_unkept()
                return
            time.sleep(RETRY_S)

    def _report_unkept(self) -> None:
        """Tell what is neither in the database nor in a journal that can be trusted."""
        self._backlog.keep_durable()
        if self._session.journal.failure is not None:
            ids = self._backlog.unkept()
            log.critical("%s records are in no file that is durable: %s", len(ids), ids[:IDS_TOLD])

    def _report(self, error: Exception | None) -> None:
        """Log the beginning and the end of trouble, not every try."""
        if error is None:
            if self._trouble:
                log.warning("the database answers again")
            self._trouble = ""
            return
        if repr(error) != self._trouble:
            away = isinstance(error, DatabaseAway)
            log.error("the database writer has to try again: %r", error, exc_info=not away)
        self._trouble = repr(error)

    def _take_wishes(self) -> tuple[list[Draw], list[GiveBack], list[str]]:
        draws = [Draw(workspace_id, 1, 0, 0) for workspace_id in self._audits]
        returns, self._postponed = self._postponed, []
        recalls: list[str] = []
        wish, self._first = self._first, None
        while True:
            if isinstance(wish, Draw):
                draws.append(wish)
            elif isinstance(wish, GiveBack):
                returns.append(wish)
            elif wish is not None:
                recalls.append(wish)
            try:
                wish = self._wishes.get_nowait()
            except Empty:
                return draws, returns, recalls

    def _serve(self, draws: list[Draw], returns: list[GiveBack]) -> None:
        if not draws and not returns:
            return
        concerned = {wish.workspace_id for wish in draws}
        concerned |= {wish.workspace_id for wish in returns}
        try:
            self._backlog.end_doubt()
            answers = self._session.wallet_client.serve(draws, returns)
        except Fenced:
            raise  # the client hears of that at once, and lets everybody who waits know
        except BaseException:
            self._audits |= concerned
            self._fail(draws)
            raise
        self._audits -= concerned
        for answer in answers:
            self._deliver(partial(self._client.on_drawn, answer))

    def _fail(self, draws: list[Draw]) -> None:
        for wish in draws:
            self._deliver(partial(self._client.on_draw_failed, wish.workspace_id))

    def _answer(self) -> None:
        """Run the questions that were asked, with no doubt about what has been posted."""
        while not self._questions.empty():
            self._backlog.end_doubt()
            after, question = self._questions.get_nowait()
            while self._backlog.posted < after and not self._backlog.is_empty:
                self._backlog.drain()
            question(self._backlog.posted)

    def _connect(self) -> None:
        """Have a connection that does not wait long for a lock, and that remembers more than most.
        Raises OperationalError while the database's file is not the one of the start."""
        self._file.check()
        if connection.connection is None:
            wait_briefly()
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    cursor.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            self._file.note()
            self._file.check()

    def _be_fenced(self) -> None:
        log.error("process %s was declared dead while it lived", self._session.process_id)
        self._fenced = True
        self._audits.clear()
        self._deliver(self._client.on_fenced)

    def _rejoin(self) -> None:
        """Begin another session once no call of the old one runs."""
        if not self._client.may_rejoin:
            return
        sleeps = self._sleeps
        former, self._session = self._session, ProcessSession(self._journal_home)
        self._backlog = Backlog(self._session)
        former.release_files()
        self._outlived = sleeps
        self._fenced = False
        self._deliver(self._client.on_rejoined)

    def _deliver(self, answer: Callable[[], None]) -> None:
        self._client.deliver(answer)

    def _sync(self) -> None:
        self._awake_at, self._awake_s = time.time(), steady_s()
        while not self._ending.wait(SYNC_EVERY_S):
            self._notice_sleep()
            self._backlog.keep_durable()
            self._space.look()
            if self._file.look():
                self._sleeps += 1  # in doubt until the lease was renewed in the right file

    def _notice_sleep(self) -> None:
        now_s = steady_s()
        if now_s - self._awake_s > SLEEP_S:
            self._sleeps += 1  # before the trace of it is gone
        self._awake_at, self._awake_s = time.time(), now_s
