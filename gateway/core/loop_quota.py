"""Fairness within one event loop: so much work of a kind, then everything else has its turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import TypeVar

T = TypeVar("T")


class LoopQuota:
    """How many things of one kind are done in one pass of the event loop.

    What is beyond the limit waits for the next passes, first come first served, so a burst of it
    never holds up for long whoever wants something else of the loop. For one loop.
    """

    __slots__ = ("_left", "_limit", "_waiting", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self.loop = loop
        self._limit = self._left = limit
        self._waiting: deque[Callable[[], object]] = deque()

    def call(self, work: Callable[[], object]) -> None:
        """Do it, now if there is room in this pass, else in a later one."""
        if self._left <= 0 or self._waiting:
            self._waiting.append(work)
        else:
            self._do(work)

    async def run(self, work: Callable[[], T]) -> T:
        """Wait until it is done, and return what it returns."""
        done: asyncio.Future[T] = self.loop.create_future()
        self.call(partial(_finish, done, work))
        return await done

    async def turn(self) -> None:
        """Wait for a place in a pass."""
        await self.run(_nothing)

    def _do(self, work: Callable[[], object]) -> None:
        if self._left == self._limit:
            self.loop.call_soon(self._begin_pass)
        self._spend(work)

    def _spend(self, work: Callable[[], object]) -> None:
        self._left -= 1
        work()

    def _begin_pass(self) -> None:
        self._left = self._limit
        waiting = self._waiting
        while waiting and self._left > 0:
            self._do(waiting.popleft())


class LoopTimeQuota(LoopQuota):
    """The same for work that takes more or less time. limit: in nanoseconds."""

    __slots__ = ()

    def _spend(self, work: Callable[[], object]) -> None:
        began_ns = perf_counter_ns()
        work()
        self._left -= perf_counter_ns() - began_ns


def _nothing() -> None:
    pass


def _finish(done: asyncio.Future[T], work: Callable[[], T]) -> None:
    if done.done():
        return  # who waited has left
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
