"""What rules have counted in this process's memory, kept for the next one.

Rules of a minute or less start anew. When a process is killed, what it counted in its last seconds
is forgotten, and what its calls had reserved counts as used. When it is stopped, all is exact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from weakref import ReferenceType, ref

import msgspec

from gateway.admission.rule_counters import KeptCounter, counter_id, what_it_counts
from gateway.snapshot.types import LimitRule

PERIODS = frozenset({"hour", "day", "week", "month"})
SAVED_EVERY_S = 10.0
AT_ONCE = 200


class KeptCount(msgspec.Struct, frozen=True, array_like=True):
    """What one rule has counted. counts: what it counts, and how. until_us: from then on nothing of
    it counts. state: see RuleCounter.hear."""

    counts: str
    until_us: int
    state: tuple[float, ...]


Kept = dict[str, KeptCount]


class CountStore(Protocol):
    """Where counts are kept, by the ids of their counters (gateway.stores.count_file). Both may
    take long, and are called in a thread."""

    def load(self) -> Kept: ...

    def save(self, kept: Kept) -> None: ...


class KeptCounts:
    """Of one process. now_us: returns the moment by which rules are counted."""

    def __init__(self, store: CountStore, now_us: Callable[[], int]) -> None:
        self._store = store
        self._now_us = now_us
        # Of rules that no call has come under since the start.
        self._waiting: Kept = {}
        # Weakly: who uses a counter may forget it.
        self._counters: dict[str, tuple[str, ReferenceType[KeptCounter]]] = {}
        self._saving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read what was kept, and begin to keep what is counted."""
        self._waiting = await asyncio.to_thread(self._store.load)
        for name in [name for name in self._counters if name in self._waiting]:
            self._go_on(name)
        self._saving = asyncio.create_task(self._save_often())

    def follow(self, rule: LimitRule, counter: KeptCounter) -> None:
        """Have a new counter go on from what was kept, and keep what it counts."""
        if rule.period not in PERIODS:
            return
        name = counter_id(rule)
        self._counters[name] = " ".join(what_it_counts(rule)), ref(counter)
        if name in self._waiting:
            self._go_on(name)

    async def aclose(self) -> None:
        """Keep what has been counted up to now."""
        if self._saving is None:
            return
        self._saving.cancel()
        with suppress(asyncio.CancelledError):
            await self._saving
        await self._save()

    def _go_on(self, name: str) -> None:
        kept = self._waiting.pop(name)
        counts, found = self._counters[name]
        counter = found()
        if counter is not None and kept.counts == counts:
            counter.hear(kept.state, self._now_us())

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVED_EVERY_S)
            await self._save()

    async def _save(self) -> None:
        """Calls are served in between, however many counters there are."""
        now_us = self._now_us()
        names = list(self._counters)
        kept: Kept = {}
        for start in range(0, len(names), AT_ONCE):
            for name in names[start : start + AT_ONCE]:
                self._keep(name, now_us, kept)
            await asyncio.sleep(0)
        for name, count in list(self._waiting.items()):
            if count.until_us > now_us:
                kept.setdefault(name, count)
            else:
                del self._waiting[name]
        await asyncio.to_thread(self._store.save, kept)

    def _keep(self, name: str, now_us: int, kept: Kept) -> None:
        counts, found = self._counters[name]
        counter = found()
        if counter is None:
            del self._counters[name]
        elif left_us := counter.empty_in_us(now_us):
            kept[name] = KeptCount(counts, now_us + left_us, counter.state())
