"""Taking turns: so that one workspace does not keep all others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
