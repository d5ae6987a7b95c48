"""What the owners of budgets have spent according to the ledger; memory adds what they spend after
that.

A charge reaches memory, the journal and the ledger one after the other. To count each exactly
once, the writer's thread reads the ledger between two of its batches, and the answer says how many
of this process's records the ledger had at that moment.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial

from django.db import Error as DatabaseError

from gateway.core.errors import DatabaseUnavailable
from gateway.core.spent import Reading
from gateway.selectors.spending import spent_by
from gateway.snapshot.types import SpendingLimits
from gateway.stores.writer import Writer

TIMEOUT_S = 2.0

Answered = asyncio.Future[Reading]


class LedgerSpending:
    """Asks for one process. Its methods are for the event loop's thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    @property
    def recorded(self) -> int:
        """The number of the newest record, as Reading counts them."""
        return self._writer.backlog.appended

    async def read(self, limits: SpendingLimits) -> Reading:
        """Return what an owner has spent, of the day, week and month in the limits' time zone.
        Raises DatabaseUnavailable when that cannot be found out within 2 s."""
        loop = asyncio.get_running_loop()
        answered: Answered = loop.create_future()
        self._writer.ask(partial(_look, loop, answered, limits))
        timer = loop.call_later(
            TIMEOUT_S, _fail, answered, "the database writer did not get to it in time"
        )
        try:
            return await answered
        finally:
            timer.cancel()


def _look(
    loop: asyncio.AbstractEventLoop, answered: Answered, limits: SpendingLimits, posted: int
) -> None:
    at = time.time()
    try:
        # All periods: another limit may be set while what was read is counted on.
        spent = spent_by(limits.owner, at, timezone=limits.timezone)
    except DatabaseError as error:
        answer = partial(_fail, answered, repr(error))
    else:
        answer = partial(_give, answered, Reading(spent, at, posted, limits.timezone))
    # A loop that has ended has nobody left who waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(answer)


def _give(answered: Answered, reading: Reading) -> None:
    if not answered.done():
        answered.set_result(reading)


def _fail(answered: Answered, detail: str) -> None:
    if not answered.done():
        answered.set_exception(DatabaseUnavailable(detail=detail, retry_after_s=1))
