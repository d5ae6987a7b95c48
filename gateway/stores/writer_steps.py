"""What the writer's thread does, one step at a time: see gateway.stores.writer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from django.db import Error as DatabaseAway
from django.db import connection

from gateway.stores.backlog import Backlog
from gateway.stores.client import Client
from gateway.stores.database_file import DatabaseFile
from gateway.stores.drain import Fenced
from gateway.stores.jobs import Jobs
from gateway.stores.late_journals import set_late_journals_aside
from gateway.stores.process import HEARTBEAT_S, Company, renew_lease
from gateway.stores.process_session import ProcessSession
from gateway.stores.queries import wait_briefly
from gateway.stores.reaping import Reaper
from gateway.stores.sole_process import wait_for_others
from gateway.stores.stall_monitor import StallMonitor
from gateway.stores.wallet_client import Draw, GiveBack
from gateway.stores.writer_inbox import WriterInbox

log = logging.getLogger(__name__)

DRAIN_EVERY_S = 0.1
REAP_EVERY_S = 5.0
# Pages of indexes that calls of many keys are written to; SQLite's own 2 MB are soon too few.
CACHE_KB = 8_000
# On PostgreSQL: for a row that another process's writer has, and for a large batch.
LOCK_MS = 1_500
STATEMENT_MS = 60_000


class WriterSteps:
    """open() once, then step() again and again, finish() at the end. For one thread."""

    def __init__(
        self,
        journal_home: Path,
        inbox: WriterInbox,
        jobs: Jobs,
        file: DatabaseFile,
        stalls: StallMonitor,
        *,
        company: Company,
    ) -> None:
        self._company = company
        self._journal_home = journal_home
        self._inbox = inbox
        self._jobs = jobs
        self._file = file
        self._stalls = stalls
        self.reaper = Reaper(journals_elsewhere=company.is_possible)
        self._audits: set[str] = set()
        self._fenced = False
        self.next_drain = self.next_beat = self.next_reap = 0.0
        self.client: Client
        self.session: ProcessSession
        self.backlog: Backlog

    def open(self) -> None:
        """Begin a session, after ending those of dead processes."""
        self._connect()
        self.reaper.run()
        self._look_at_late_journals()
        if self._company.is_possible:
            alone = self._company.counts_alone
            wait_for_others(counts_alone=alone, end_dead=self.reaper.run)
        self.session = ProcessSession(self._journal_home, self._company)
        self.backlog = Backlog(self.session)
        now = time.monotonic()
        self.next_beat, self.next_reap = now + HEARTBEAT_S, now + REAP_EVERY_S

    def step(self, now: float) -> None:
        """Do everything that is due. Raises DatabaseAway when the database does not answer."""
        draws, returns, recalls = self._inbox.take()
        draws = [Draw(workspace_id, 1, 0, 0) for workspace_id in self._audits] + draws
        try:
            self._connect()
        except BaseException:
            self._inbox.postpone(returns)
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
                self.session.wallet_client.call_back(workspace_id)
            self._answer()
            if now >= self.next_drain:
                self.next_drain = now + DRAIN_EVERY_S
                self.backlog.drain()
            stalls = self._stalls.stalls
            if now >= self.next_beat or self._stalls.needs_renewal:
                if not renew_lease(self.session.process_id):
                    raise Fenced(str(self.session.process_id))
                self._file.check()  # a lease in a file that was moved meanwhile proves nothing
                self.next_beat = now + HEARTBEAT_S
                self._stalls.outlive(stalls)
        except Fenced:
            self._be_fenced()
        if now >= self.next_reap:
            self.next_reap = now + REAP_EVERY_S
            if self.reaper.run():
                self._deliver(self.client.on_reaped)

    def finish(self) -> None:
        """Post the rest and leave. Raises DatabaseAway when that has to be tried again."""
        self._connect()
        _, returns, _ = self._inbox.take()
        if self._fenced:
            self.session.end()
            return
        try:
            self._serve([], returns)
            self._jobs.run()
            while not self.backlog.is_empty:
                self.backlog.drain()
            self.session.end()
        except Fenced:
            self.session.end()

    def _serve(self, draws: list[Draw], returns: list[GiveBack]) -> None:
        if not draws and not returns:
            return
        concerned = {request.workspace_id for request in draws}
        concerned |= {request.workspace_id for request in returns}
        try:
            self.backlog.end_doubt()
        except Fenced:
            raise
        except BaseException:
            self._inbox.postpone(returns)
            self._fail(draws)
            raise
        try:
            answers = self.session.wallet_client.serve(draws, returns)
        except Fenced:
            raise  # the client hears of that at once, and lets everybody who waits know
        except BaseException:
            self._audits |= concerned
            self._fail(draws)
            raise
        self._audits -= concerned
        for answer in answers:
            self._deliver(partial(self.client.on_drawn, answer))

    def _fail(self, draws: list[Draw]) -> None:
        for request in draws:
            self._deliver(partial(self.client.on_draw_failed, request.workspace_id))

    def _answer(self) -> None:
        """Run the questions that were asked, with no doubt about what has been posted."""
        while self._inbox.has_questions:
            self.backlog.end_doubt()
            after, question = self._inbox.next_question()
            while self.backlog.posted < after and not self.backlog.is_empty:
                self.backlog.drain()
            question(self.backlog.posted)

    def _connect(self) -> None:
        """Have a connection that does not wait long for a lock, and that remembers more than most.
        Raises OperationalError while the database's file is not the one of the start."""
        self._file.check()
        if connection.connection is None:
            wait_briefly(LOCK_MS, STATEMENT_MS)
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    cursor.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            self._file.note()
            self._file.check()

    def _be_fenced(self) -> None:
        log.error("process %s was ended or overtaken by another", self.session.process_id)
        self._fenced = True
        self._audits.clear()
        self._deliver(self.client.on_fenced)

    def _rejoin(self) -> None:
        """Begin another session once no call of the old one runs."""
        if not self.client.may_rejoin:
            return
        stalls = self._stalls.stalls
        self.session.end()
        self._look_at_late_journals()
        self.session = ProcessSession(self._journal_home, self._company)
        self.backlog = Backlog(self.session)
        self._stalls.outlive(stalls)
        self._fenced = False
        self._deliver(self.client.on_rejoined)

    def _look_at_late_journals(self) -> None:
        if self._company.is_possible:
            set_late_journals_aside(self._journal_home)

    def _deliver(self, answer: Callable[[], None]) -> None:
        self.client.deliver(answer)
