"""One server process's credits and records, and the writer that does their slow work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from gateway.stores.credit_reserver import CreditReserver
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.record_log import RecordLog
from gateway.stores.wallet_client import Answer
from gateway.stores.writer import Writer


class ProcessStores:
    """Starts and stops the parts, and hands the writer's answers to them (gateway.stores.client).

    start() before use, stop() at the end.
    """

    def __init__(self, writer: Writer, timeouts: ReservationTimeouts | None = None) -> None:
        self._writer = writer
        self._loop: asyncio.AbstractEventLoop
        self.credits = CreditReserver(writer.inbox, timeouts)
        self.records = RecordLog(writer)
        # Called when the ledger has changed in a way that counting in memory does not show.
        self.on_ledger_replaced: Callable[[], None] | None = None

    @property
    def process_id(self) -> str:
        """Id of this process's row, as UUID text. Known once started."""
        return str(self._writer.process_id)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Enter this process in the database, settle what dead ones left here, start the thread.

        Blocking: run it before serving, or in a thread. loop: the one that will use the parts.
        Raises DatabaseError or OSError when this process cannot be entered.
        """
        self._loop = loop
        self._writer.start(self)
        self.credits.start(loop)

    async def stop(self) -> None:
        """Post everything, return all purses, leave the database. No call may be running.

        When the database does not answer within 10 s the journal is left for the reaper.
        """
        self.credits.close()
        await asyncio.to_thread(self._writer.stop)

    # The writer's answers

    def deliver(self, answer: Callable[[], None]) -> None:
        """Run the writer's answer on the loop. The one method for the writer's thread."""
        # A loop that has ended has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(answer)

    def on_drawn(self, answer: Answer) -> None:
        """A draw came back."""
        self.credits.on_drawn(answer)

    def on_draw_failed(self, workspace_id: str) -> None:
        """The database did not answer."""
        self.credits.on_draw_failed(workspace_id)

    def on_fenced(self) -> None:
        """Another process has ended this one in the database.

        When the last running call has ended, the process enters again under a new id.
        """
        self.credits.on_fenced()
        self.records.on_fenced()
        self._writer.inbox.wake()

    def on_rejoined(self) -> None:
        """This process has a row, a journal and empty purses again."""
        self.credits.on_rejoined()
        self.records.on_rejoined()
        self.on_reaped()

    def on_reaped(self) -> None:
        """The ledger has got what another process, or a former session of this one, left."""
        if self.on_ledger_replaced is not None:
            self.on_ledger_replaced()

    @property
    def may_rejoin(self) -> bool:
        """True when no call of the former session runs any more."""
        return self.credits.may_rejoin
