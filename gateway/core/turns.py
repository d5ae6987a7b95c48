"""Taking turns: so that one workspace does not keep all others waiting, nor pages the calls."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary


class Turns:
    """At most so many at once, and fewer of one owner; whoever comes then waits. For one loop."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most_of_one = most_of_one
        self._all = asyncio.Semaphore(most)
        # Those who wait or have a turn hold on to their owner's.
        self._owners: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn; it lasts as long as the block."""
        own = self._owners.get(owner)
        if own is None:
            self._owners[owner] = own = asyncio.Semaphore(self._most_of_one)
        async with own, self._all:
            yield


# How long a thread may keep the interpreter while another waits for it. Python's own 5 ms are what
# the event loop, which carries the calls, would wait again and again beside a thread that computes.
# Shorter always would cost the loop itself: it is made to let go as often.
LONG_SWITCH_S = sys.getswitchinterval()
SHORT_SWITCH_S = 0.000_5
_beside = 0


@contextmanager
def beside_calls() -> Iterator[None]:
    """While any such block lasts, threads hand the interpreter over sooner. For one loop."""
    global _beside
    _beside += 1
    sys.setswitchinterval(SHORT_SWITCH_S)
    try:
        yield
    finally:
        _beside -= 1
        if not _beside:
            sys.setswitchinterval(LONG_SWITCH_S)
