"""Counts what was used in the last period, at any moment (gateway.admission.rule_counters).

The period is kept in 60 parts. What a call does most of the time, counting in the part that runs,
takes few steps, and no max() or min(): these take several times as long as a comparison.
"""

from __future__ import annotations

from collections import deque
from math import inf

PARTS = 60


class RollingWindow:
    __slots__ = (
        *("__weakref__", "_limit", "_newest", "_parts", "_period", "_since", "_total", "_until"),
        "_width",
    )

    def __init__(self, limit: int, period_us: int) -> None:
        self._limit = limit
        self._period = period_us
        self._width = -(-period_us // PARTS)
        # Of each part that has been counted in: its number, counted from the epoch, and how much.
        self._parts: deque[list[int]] = deque()
        self._total = 0
        # The part that runs, and the time in which no other begins and none leaves.
        self._newest = [0, 0]
        self._since = self._until = 0

    def used(self, now_us: int) -> int:
        total = self._total
        if now_us < self._until:
            return total
        oldest = (now_us - self._period) // self._width
        for number, amount in list(self._parts):
            if number >= oldest:
                break
            total -= amount
        return total

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        if not self._since <= now_us < self._until:
            self._advance(now_us)
        total = self._total + amount
        if total > limit:
            return False
        self._total = total
        self._newest[1] += amount
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        # A call has mostly begun in the part that runs, and used no more than it reserved.
        if self._since <= at_us <= now_us < self._until:
            newest = self._newest
            used = newest[1] + delta
            if used >= 0:
                newest[1] = used
                self._total += delta
                return
        self._advance(now_us)
        part = self._part(min(at_us, now_us) // self._width, now_us)
        if part is not None:
            used = max(part[1] + delta, 0)
            self._total += used - part[1]
            part[1] = used

    def wait_us(self, amount: int, now_us: int) -> int:
        self._advance(now_us)
        over = self._total + amount - self._limit
        wait_us = 0
        for number, used in self._parts:
            if over <= 0:
                break
            over -= used
            wait_us = self._leaves(number) - now_us
        return wait_us

    def empty_in_us(self, now_us: int) -> int:
        try:
            number, amount = self._parts[-1]
        except IndexError:
            return 0
        if not amount:
            used = [part[0] for part in list(self._parts) if part[1]]
            if not used:
                return 0
            number = used[-1]
        left_us = (number + 1) * self._width + self._period - now_us
        return left_us if left_us > 0 else 0

    def change(self, limit: int, rate: int) -> None:
        self._limit = limit

    def hear(self, state: tuple[float, ...], now_us: int) -> None:
        """state: the number of a part and what it has, for each; or the newest's and the total,
        which is then taken to be all of that part."""
        self._parts = deque(
            [int(number), int(amount)]
            for number, amount in zip(state[::2], state[1::2], strict=True)
        )
        self._total = sum([amount for _, amount in self._parts])
        self._since = self._until = 0

    def state(self) -> tuple[float, ...]:
        return tuple([number for part in self._parts if part[1] for number in part])

    def _part(self, number: int, now_us: int) -> list[int] | None:
        """Return a part, new if it has nothing; None when it is not counted any more."""
        if number < self._oldest(now_us):
            return None
        place = len(self._parts)
        while place and self._parts[place - 1][0] >= number:
            place -= 1
        if place == len(self._parts) or self._parts[place][0] != number:
            self._parts.insert(place, [number, 0])
            self._until = min(self._until, self._leaves(number))
        return self._parts[place]

    def _leaves(self, number: int) -> int:
        """Return when a part is not counted any more."""
        return (number + 1) * self._width + self._period

    def _oldest(self, now_us: int) -> int:
        """Return the oldest part that is counted."""
        return (now_us - self._period) // self._width

    def _advance(self, now_us: int) -> None:
        """Drop what is not counted any more, and begin the part that runs."""
        parts, newest, oldest = self._parts, now_us // self._width, self._oldest(now_us)
        while parts and parts[0][0] < oldest:
            self._total -= parts.popleft()[1]
        if parts and parts[-1][0] > newest:  # the clock was set back
            early = 0
            while parts and parts[-1][0] >= newest:
                early += parts.pop()[1]
            parts.append([newest, early])
        elif not parts or parts[-1][0] < newest:
            parts.append([newest, 0])
        self._newest = parts[-1]
        self._since = newest * self._width
        self._until = min(self._since + self._width, self._leaves(parts[0][0]))
