"""A semaphore that no single owner can use up, so that one workspace does not block the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class FairSemaphore:
    """At most `limit` at once, at most `owner_limit` of one owner; others wait. For one loop."""

    def __init__(self, limit: int, owner_limit: int) -> None:
        self._owner_limit = owner_limit
        self._all = asyncio.Semaphore(limit)
        # Those who wait or have a slot hold on to their owner's.
        self._owners: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, owner: str) -> AsyncIterator[None]:
        """Wait for a slot; it is released when the block ends."""
        own = self._owners.get(owner)
        if own is None:
            self._owners[owner] = own = asyncio.Semaphore(self._owner_limit)
        async with own, self._all:
            yield
