"""A limit on concurrent calls, with a queue for those beyond it, in which keys take turns.

Used from one event loop only. A call that leaves the queue, for whatever reason, leaves nothing
behind: a slot that was given to a call which had just left goes to the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from gateway.admission.counter_protocols import HangUp, QueueFull, QueueLimits
from gateway.core.errors import CallerLeft
from gateway.core.fair_queue import FairQueue, Owner

Waiter = asyncio.Future[None]


class ConcurrencyLimiter:
    """At most `limit` calls at a time; the others wait for their turn."""

    __slots__ = ("_queue", "in_use", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_use = 0
        self._queue: FairQueue[Waiter] = FairQueue()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return not (self.in_use or self._queue)

    def try_acquire(self) -> bool:
        """Take a slot if one is free. None ever is while a call waits: see _wake_next."""
        if self.in_use >= self.limit:
            return False
        self.in_use += 1
        return True

    def may_wait(self, owner: Owner, max_queue: int) -> bool:
        """True when there is room in the queue, or another key has more calls in it."""
        return len(self._queue) < max_queue or self._queue.find_larger(owner) is not None

    async def acquire(self, owner: Owner, limits: QueueLimits, wait_for_hang_up: HangUp) -> None:
        """Wait for a slot until it is the owner's turn, and take it.

        Raises QueueFull when no room can be made in the queue, or the place is given to a key with
        fewer calls in it; TimeoutError when no slot became free in time, CallerLeft as soon as
        wait_for_hang_up returns, and what `reject_waiting` was given. Safe to cancel.
        """
        loop = asyncio.get_running_loop()
        if len(self._queue) >= limits.max_queue:
            self._make_room(owner)
        waiter: Waiter = loop.create_future()
        self._join(owner, waiter)
        timer = loop.call_later(limits.queue_s, _fail, waiter, TimeoutError())
        listener = asyncio.ensure_future(wait_for_hang_up())
        listener.add_done_callback(partial(_leave_with_caller, waiter))
        try:
            await waiter
        except BaseException:
            self._leave(owner, waiter)
            raise
        finally:
            timer.cancel()
            listener.cancel()

    def release(self) -> None:
        """Give a call's slot back; whose turn is next gets it."""
        self.in_use -= 1
        self._wake_next()

    def resize(self, limit: int) -> None:
        """Apply another limit. Where more slots are in use than that, calls end undisturbed."""
        self.limit = limit
        self._wake_next()

    def reject_waiting(self, make_reason: Callable[[], Exception]) -> None:
        """Fail every call in the queue."""
        for waiter in self._queue:
            _fail(waiter, make_reason())

    def _wake_next(self) -> None:
        """Give the free slots to the queue; called whenever one becomes free."""
        while self._queue.length and self.in_use < self.limit:
            waiter = self._queue.popleft()
            if not waiter.done():
                self.in_use += 1
                waiter.set_result(None)

    def _make_room(self, owner: Owner) -> None:
        """Refuse the newest call of whoever has most in the queue. Raises QueueFull when that would
        be this owner."""
        found = self._queue.find_larger(owner)
        if found is None:
            raise QueueFull
        self._queue.remove(*found)
        _fail(found[1], QueueFull())

    def _join(self, owner: Owner, waiter: Waiter) -> None:
        self._queue.append(owner, waiter)

    def _leave(self, owner: Owner, waiter: Waiter) -> None:
        self._queue.remove(owner, waiter)
        # exception() is called in any case: asyncio logs an exception that nobody retrieved.
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            self.release()


def _fail(waiter: Waiter, reason: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(reason)


def _leave_with_caller(waiter: Waiter, listener: asyncio.Future[None]) -> None:
    if not listener.cancelled():
        listener.exception()  # retrieved, as above
        _fail(waiter, CallerLeft())
