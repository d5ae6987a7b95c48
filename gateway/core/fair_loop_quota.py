"""Fairness within one event loop between owners: so much is begun in a pass, and beyond that owners
take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter_ns

from gateway.core.fair_queue import FairQueue, Owner

NS_PER_S = 10**9


class FairLoopQuota:
    """How many things of one kind are begun in one pass of the event loop, whoever's they are.

    most: in a pass in which nothing waits. While something waits it is fewer, so that passes take
    no longer than pass_ns with all else that the loop has to do, and never less than one. For one
    loop.
    """

    __slots__ = (
        *("_began_ns", "_is_crowded", "_left", "_limit", "_most", "_pass_ns", "_took_ns"),
        *("_waiting", "loop"),
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int, pass_ns: int) -> None:
        self.loop = loop
        self._most = self._limit = self._left = most
        self._pass_ns = pass_ns
        self._waiting: FairQueue[Callable[[], object]] = FairQueue()
        # Something waited when the pass began; when that was, and how long the one before took.
        self._is_crowded = False
        self._began_ns = self._took_ns = 0

    @property
    def delay_s(self) -> float:
        """About how long it takes to begin all that waits."""
        return len(self._waiting) / self._limit * self._took_ns / NS_PER_S

    def try_take(self) -> bool:
        """Count one thing if it may begin in this pass. Returns whether."""
        if self._left <= 0 or self._waiting.length:
            return False
        self._take()
        return True

    def wait(self, owner: Owner, begin: Callable[[], object]) -> None:
        """Begin it when it is the owner's turn. Only for what try_take has refused."""
        self._waiting.append(owner, begin)

    def _take(self) -> None:
        if self._left == self._limit:
            self.loop.call_soon(self._begin_pass)
        self._left -= 1

    def _begin_pass(self) -> None:
        waiting = self._waiting
        if waiting.length or self._is_crowded:
            self._adapt()
        self._is_crowded = waiting.length > 0
        self._left = self._limit
        while waiting.length and self._left > 0:
            self._take()
            waiting.popleft()()

    def _adapt(self) -> None:
        """Begin fewer in a pass after one that took too long, else more."""
        now_ns = perf_counter_ns()
        if not self._waiting:
            self._limit = self._most
        elif self._is_crowded:
            self._took_ns = now_ns - self._began_ns
            is_long = self._took_ns > self._pass_ns
            self._limit = max(self._limit // 2, 1) if is_long else min(self._limit + 1, self._most)
        self._began_ns = now_ns
