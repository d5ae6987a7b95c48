"""The budgets of keys where several processes spend them: each spends from its part.

    spending.try_hold(limits, want) or await spending.hold(limits, want)

Every other process's part is called back before a call is refused. A call that finds enough in
this process's part asks nobody. Used from one event loop; amounts are nano-USD.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from weakref import WeakValueDictionary

from django.db import Error as DatabaseError

from gateway.core.errors import DatabaseUnavailable
from gateway.stores.drain import Fenced
from gateway.stores.key_budget import Answer, KeyBudget
from gateway.stores.key_budget_client import Ask, settle_budget
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.writer import Writer


class KeyBudgets:
    """Of one process."""

    def __init__(self, writer: Writer, timeouts: ReservationTimeouts | None = None) -> None:
        self._writer = writer
        self._timeouts = timeouts or ReservationTimeouts()
        # The limits keep them as long as they are used.
        self._budgets: WeakValueDictionary[str, KeyBudget] = WeakValueDictionary()
        self._timer: asyncio.TimerHandle | None = None

    def counter(self, key_id: str) -> KeyBudget:
        """Return the counter of a key (SpendingCounter)."""
        if self._timer is None:
            self._turn_windows()
        budget = KeyBudget(key_id, self._ask, self._timeouts)
        self._budgets[key_id] = budget
        return budget

    def recall(self, key_id: str) -> None:
        """Another process needs what this one does not."""
        budget = self._budgets.get(key_id)
        if budget is not None:
            budget.on_recall()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _turn_windows(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeouts.window_s, self._turn_windows)
        for budget in list(self._budgets.values()):
            budget.turn_window()

    async def _ask(self, ask: Ask) -> Answer:
        """Raises DatabaseUnavailable when there is no answer within 2 s."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        self._writer.ask(partial(self._settle, loop, answered, ask))
        timer = loop.call_later(self._timeouts.database_s, _fail, answered, "it was too late")
        try:
            return await answered
        finally:
            timer.cancel()

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        answered: asyncio.Future[Answer],
        ask: Ask,
        posted: int,
    ) -> None:
        """In the writer's thread."""
        answer: Callable[[], None]
        try:
            allotted = settle_budget(self._writer.process_id, ask, time.time())
        except (DatabaseError, Fenced) as error:
            answer = partial(_fail, answered, repr(error))
        else:
            answer = partial(_give, answered, Answer(allotted, posted))
        # A loop that has ended has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(answer)


def _give(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)


def _fail(answered: asyncio.Future[Answer], detail: str) -> None:
    if not answered.done():
        answered.set_exception(DatabaseUnavailable(detail=detail, retry_after_s=1))
