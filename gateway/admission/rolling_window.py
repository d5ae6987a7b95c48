"""Counts what was used in the last period, at any moment (gateway.admission.rule_counters).

The period is kept in 60 parts. What a call does most of the time, counting in the part that runs,
takes few steps, and no max() or min(): these take several times as long as a comparison.
"""

from __future__ import annotations

from collections import deque
from math import inf

from gateway.admission.current_part import CurrentPart

PARTS = 60


class RollingWindow:
    __slots__ = ("__weakref__", "_number", "_older", "_period", "_width", "current")

    def __init__(self, limit: int, period_us: int) -> None:
        self._period = period_us
        self._width = -(-period_us // PARTS)
        self.current = CurrentPart(limit)
        # Of the current part: its number, counted from the epoch.
        self._number = 0
        # Of each part before it that has been counted in: its number, and how much.
        self._older: deque[list[int]] = deque()

    def used(self, now_us: int) -> int:
        current = self.current
        total = current.total
        if now_us < current.until:
            return total
        oldest = self._oldest(now_us)
        for number, amount in self._parts():
            if number >= oldest:
                break
            total -= amount
        return total

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        current = self.current
        if not current.since <= now_us < current.until:
            self._advance(now_us)
        total = current.total + amount
        if total > limit:
            return False
        current.total = total
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        # A call has mostly begun in the part that runs, and used no more than it reserved.
        if self.current.correct(delta, at_us, now_us):
            return
        self._advance(now_us)
        current, number = self.current, min(at_us, now_us) // self._width
        if number == self._number:
            current.total = max(current.total + delta, current.settled)
        elif number >= self._oldest(now_us):
            part = self._older_part(number)
            change = max(delta, -part[1])
            part[1] += change
            current.settled += change
            current.total += change

    def wait_us(self, amount: int, now_us: int) -> int:
        self._advance(now_us)
        over = self.current.total + amount - self.current.limit
        wait_us = 0
        for number, used in self._parts():
            if over <= 0:
                break
            over -= used
            wait_us = self._leaves(number) - now_us
        return wait_us

    def empty_in_us(self, now_us: int) -> int:
        used = [number for number, amount in self._parts() if amount]
        if not used:
            return 0
        left_us = self._leaves(used[-1]) - now_us
        return left_us if left_us > 0 else 0

    def change(self, limit: int, rate: int) -> None:
        self.current.limit = limit

    def hear(self, state: tuple[float, ...], now_us: int) -> None:
        """state: the number of a part and what it has, for each; or the newest's and the total,
        which is then taken to be all of that part."""
        parts = [
            [int(number), int(amount)]
            for number, amount in zip(state[::2], state[1::2], strict=True)
        ]
        self._number, newest = parts.pop() if parts else (0, 0)
        self._older = deque(parts)
        current = self.current
        current.settled = sum([amount for _, amount in parts])
        current.total = current.settled + newest
        current.since = current.until = 0

    def state(self) -> tuple[float, ...]:
        return tuple([number for part in self._parts() if part[1] for number in part])

    def _parts(self) -> list[list[int]]:
        """Return all that have been counted in, the current one last."""
        current = self.current
        return [*self._older, [self._number, current.total - current.settled]]

    def _older_part(self, number: int) -> list[int]:
        """Return a part before the current one, new if it has nothing."""
        older = self._older
        place = len(older)
        while place and older[place - 1][0] >= number:
            place -= 1
        if place == len(older) or older[place][0] != number:
            older.insert(place, [number, 0])
            self.current.until = min(self.current.until, self._leaves(number))
        return older[place]

    def _leaves(self, number: int) -> int:
        """Return when a part is not counted any more."""
        return (number + 1) * self._width + self._period

    def _oldest(self, now_us: int) -> int:
        """Return the oldest part that is counted."""
        return (now_us - self._period) // self._width

    def _advance(self, now_us: int) -> None:
        """Drop what is not counted any more, and begin the part that runs."""
        current, older = self.current, self._older
        number, oldest = now_us // self._width, self._oldest(now_us)
        amount = current.total - current.settled
        if self._number < number and amount:
            older.append([self._number, amount])
            current.settled += amount
        while older and older[-1][0] >= number:  # the clock was set back
            current.settled -= older.pop()[1]
        while older and older[0][0] < oldest:
            gone = older.popleft()[1]
            current.settled -= gone
            current.total -= gone
        self._number = number
        since = number * self._width
        until = since + self._width
        if older:
            until = min(until, self._leaves(older[0][0]))
        current.begin(since, until, self._leaves(number))
