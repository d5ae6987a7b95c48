"""Work that killed or hung the process that did it, and is not done again for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MAX_KEPT = 10_000


class Quarantine:
    """What it was, by a key of its own; the oldest is forgotten first when there is much of it."""

    def __init__(self, kept_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept_s = kept_s
        self._clock = clock
        self._until: OrderedDict[Hashable, float] = OrderedDict()

    def __contains__(self, work: Hashable) -> bool:
        until = self._until.get(work)
        return until is not None and self._clock() < until

    def add(self, work: Hashable) -> None:
        self._until.pop(work, None)
        self._until[work] = self._clock() + self._kept_s
        if len(self._until) > MAX_KEPT:
            self._until.popitem(last=False)

    def clear(self) -> None:
        self._until.clear()
