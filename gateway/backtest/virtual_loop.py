"""An event loop whose time is told: it does not wait, what is due next is done at once.

So what the product does over days, with its own timers and queues, takes seconds.
"""

from __future__ import annotations

import asyncio
from selectors import DefaultSelector, SelectorKey


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time begins at 0."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Waitless(self))

    def time(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        self._now_s += seconds


class _Waitless(DefaultSelector):
    """Passes the time of its loop instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Nothing is due any more, and something is waited for.")
        ready = super().select(0)
        if not ready:
            self._loop.advance(timeout)
        return ready
