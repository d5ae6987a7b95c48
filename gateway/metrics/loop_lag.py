"""How late the event loop is: what every call of the process waits, whatever it is about."""

from __future__ import annotations

import asyncio

from gateway.metrics.call_totals import Histogram

TICK_S = 0.25
LAG_BOUNDS_US = (
    *(500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000),
    *(2_000_000, 5_000_000),
)
US_PER_S = 1_000_000


class LoopLag:
    """Sets a timer four times a second and counts how late it came."""

    def __init__(self) -> None:
        self.lag = Histogram(LAG_BOUNDS_US)
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + TICK_S
        self._timer = loop.call_at(due, self._tick, loop, due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.lag.add(max(0, int((loop.time() - due) * US_PER_S)))
        self.start(loop)
