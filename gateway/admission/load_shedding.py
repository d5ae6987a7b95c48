"""Refusing calls while the event loop is late: more than it can carry would only make all wait.

The loop's own clock is the measure: a timer that is due comes late by as much as whatever else the
loop has to do. So do requests that wait for their turn to begin. While the loop is late, as
many calls are let in as keep it from being so, and whoever makes most of them is refused first: a
key that asks for less than an equal share of what can be carried is not refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.core.overload import overloaded

TICK_S = 0.05
# A timer that is late once may be anything. After so many in a row calls are counted, and when it
# is still so after so long the loop is behind.
COUNTED_AFTER, BEHIND_S = 2, 0.25
WINDOW_TICKS = 20
# It ends when nothing had to be refused for so long: who was refused comes again meanwhile.
CALM_WINDOWS = 6
# Of the calls of all keys. So many a second are never too many, whatever makes the loop late.
LEAST_CALLS_PER_S = 50.0
# What a key may make at once of its share of a second.
BURST_CALLS = 10.0
# How much less is let in a second after each tick that was late, and more after any other.
LESS, MORE = 0.95, 1.02


class LoadShedder:
    """For one loop. is_active: False nearly always; only then is nothing to be judged.

    lag_s: how late the loop may be; 0 is as late as it likes.
    """

    def __init__(self, lag_s: float) -> None:
        self.is_active = False
        # How long requests wait before they begin to run, in seconds. gateway.asgi sets it.
        self.start_delay_s: Callable[[], float] = lambda: 0.0
        self._lag_s = lag_s
        self._timer: asyncio.TimerHandle | None = None
        self._late_ticks = self._calm_windows = 0
        self._is_refusing = False
        self._calls_per_s = 0.0
        # In this window: how long it is so far, the calls that each key asked for, how many were
        # let in, whether any was refused, and how many of a key are let in in any case.
        self._ticks = 0
        self._window_s = 0.0
        self._asked: dict[str, int] = {}
        self._has_refused = False
        self._share_per_s = self._allowed = 0.0
        # In this tick.
        self._room = self._let_in = 0.0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to watch the loop."""
        if self._lag_s:
            now = loop.time()
            self._timer = loop.call_at(now + TICK_S, self._tick, loop, now)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def check(self, key_id: str) -> None:
        """Count a call of this key. Raises Overloaded for one that is to be refused."""
        asked = self._asked[key_id] = self._asked.get(key_id, 0) + 1
        if self._is_refusing and self._let_in >= self._room and asked > self._allowed:
            self._has_refused = True
            raise overloaded("The server is busy. The request was not run. Try again in a moment.")
        self._let_in += 1

    def _tick(self, loop: asyncio.AbstractEventLoop, last: float) -> None:
        now = loop.time()
        self.record_tick(now - last, self.start_delay_s())
        self._timer = loop.call_at(now + TICK_S, self._tick, loop, now)

    def record_tick(self, elapsed_s: float, start_delay_s: float = 0.0) -> None:
        """Take note of a tick that came so long after the one before."""
        is_late = max(elapsed_s - TICK_S, start_delay_s) > self._lag_s
        self._ticks += 1
        self._window_s += elapsed_s
        if self._is_refusing:
            self._adapt(is_late, elapsed_s)
            if self._ticks >= WINDOW_TICKS:
                self._calm_windows = 0 if self._has_refused else self._calm_windows + 1
                self._is_refusing = self.is_active = self._calm_windows < CALM_WINDOWS
                self._begin_window()
            return
        self._late_ticks = self._late_ticks + 1 if is_late else 0
        if self._late_ticks == COUNTED_AFTER:
            self._begin_window()
        self.is_active = self._late_ticks >= COUNTED_AFTER
        if self._late_ticks > COUNTED_AFTER and self._window_s >= BEHIND_S:
            self._is_refusing = True
            self._late_ticks = self._calm_windows = 0
            self._calls_per_s = max(self._let_in / self._window_s * LESS, LEAST_CALLS_PER_S)
            self._begin_window()
            self._set_room(elapsed_s)

    def _adapt(self, is_late: bool, elapsed_s: float) -> None:
        """Let in less after a tick that was late, more after one that could have had more."""
        if is_late:
            self._calls_per_s = max(self._calls_per_s * LESS, LEAST_CALLS_PER_S)
        elif self._let_in >= self._room:
            self._calls_per_s *= MORE
        self._set_room(elapsed_s)

    def _set_room(self, elapsed_s: float) -> None:
        """Say what is let in until the next tick, which is taken to be as far."""
        self._let_in = 0
        self._room = self._calls_per_s * max(elapsed_s, TICK_S)
        passed = self._share_per_s * (self._window_s + elapsed_s)
        self._allowed = max(passed, min(self._share_per_s, BURST_CALLS), 1.0)

    def _begin_window(self) -> None:
        """Share what can be carried in a window, as the keys asked in the one that ends."""
        window_s = self._window_s or TICK_S
        room = self._calls_per_s * window_s
        self._share_per_s = equal_share(list(self._asked.values()), room) / window_s
        self._asked, self._has_refused = {}, False
        self._ticks = 0
        self._window_s = self._let_in = 0.0


def equal_share(asked: list[int], room: float) -> float:
    """Return what each may have, so that all together have no more than there is room for: what
    some leave of an equal share is for the others."""
    left = len(asked)
    for wanted in sorted(asked):
        if wanted * left >= room:
            return room / left
        room, left = room - wanted, left - 1
    return room + max(asked, default=0)
