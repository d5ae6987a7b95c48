"""Counts what one rule limits, in four ways. Pure: told the time, in microseconds since the epoch.

    rolling         in any stretch of the period. The period is kept in 60 parts, and a part counts
                    until all of it is over: never more than the limit passes, for up to a 60th of
                    the period longer than needed.
    fixed_window    in each minute, day, month ..., from nothing each time.
    sliding_window  in this window, and of the one before as much as the period reaches back.
    token_bucket    so much at once (burst), refilled evenly over the period.

gateway.stores.redis_rule_scripts counts the same in Redis, with the same arithmetic. A clock that
is set back forgets nothing. What a call has used is known when it ends, and corrected in the window
in which it was admitted; a bucket that has been refilled since takes back no more than is used.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Protocol

from gateway.admission.limit_windows import PERIOD_US, window_around
from gateway.admission.rolling_window import RollingWindow
from gateway.snapshot.types import LimitRule

# A bucket is reckoned in floating point: so little above a whole number is that number.
ROUNDING = 1e-6
State = tuple[float, ...]


class RuleCounter(Protocol):
    """What one rule counts."""

    def used(self, now_us: int) -> int:
        """Return how much of the limit is used. As empty_in_us, it may be asked by any thread."""

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        """Count so much more, if no more than `limit` is used then. Returns whether it is."""

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        """Something counted at at_us was so much more, or less."""

    def wait_us(self, amount: int, now_us: int) -> int:
        """Return how long until so much may pass; it is no more than the limit."""

    def empty_in_us(self, now_us: int) -> int:
        """Return how long until nothing is used any more."""

    def change(self, limit: int, rate: int) -> None:
        """Apply another limit; what was counted stays counted."""

    def hear(self, state: State, now_us: int) -> None:
        """Go on from what another machine has counted; see each kind for its numbers."""


class KeptCounter(RuleCounter, Protocol):
    """A RuleCounter that can go on in another process."""

    def state(self) -> State:
        """Return what `hear` is to be told."""


class FixedWindow:
    __slots__ = ("__weakref__", "_end", "_limit", "_period", "_start", "_timezone", "_used")

    def __init__(self, limit: int, period: str, timezone: str) -> None:
        self._limit = limit
        self._period = period
        self._timezone = timezone
        self._used = 0
        self._start = self._end = 0

    def start(self, now_us: int) -> int:
        """Return when the present window began."""
        self._advance(now_us)
        return self._start

    def used(self, now_us: int) -> int:
        return self._used if now_us < self._end else 0

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        self._advance(now_us)
        if self._used + amount > limit:
            return False
        self._used += amount
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        self._advance(now_us)
        if at_us >= self._start:
            self._used = max(self._used + delta, 0)

    def wait_us(self, amount: int, now_us: int) -> int:
        return self._end - now_us if self.used(now_us) + amount > self._limit else 0

    def empty_in_us(self, now_us: int) -> int:
        return self._end - now_us if self.used(now_us) else 0

    def change(self, limit: int, rate: int) -> None:
        self._limit = limit

    def hear(self, state: State, now_us: int) -> None:
        """state: when the window began, and what is used of it."""
        self._start, self._end = window_around(self._period, self._timezone, int(state[0]))
        self._used = int(state[1])

    def state(self) -> State:
        return self._start, self._used

    def _advance(self, now_us: int) -> None:
        if self._start <= now_us < self._end:
            return
        if now_us >= self._end:
            self._used = 0
        self._start, self._end = window_around(self._period, self._timezone, now_us)


class SlidingWindow:
    __slots__ = ("__weakref__", "_before", "_limit", "_now", "_number", "_period")

    def __init__(self, limit: int, period_us: int) -> None:
        self._limit = limit
        self._period = period_us
        # The present window, counted from the epoch; what is used of it, and of the one before.
        self._number = 0
        self._now = self._before = 0

    def used(self, now_us: int) -> int:
        number = now_us // self._period
        ahead = (number + 1) * self._period - now_us
        now, before = self._at(number)
        return now + ceil(float(before) * ahead / self._period)

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        self._advance(now_us)
        if self.used(now_us) + amount > limit:
            return False
        self._now += amount
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        self._advance(now_us)
        number = at_us // self._period
        if number >= self._number:
            self._now = max(self._now + delta, 0)
        elif number == self._number - 1:
            self._before = max(self._before + delta, 0)

    def wait_us(self, amount: int, now_us: int) -> int:
        self._advance(now_us)
        if self.used(now_us) + amount <= self._limit:
            return 0
        passed_us = now_us - self._number * self._period
        room = self._limit - amount - self._now
        if room >= 0:
            return self._when_left(self._before, room) - passed_us
        left = self._when_left(self._now, self._limit - amount)
        return self._period - passed_us + max(left, 0)

    def empty_in_us(self, now_us: int) -> int:
        number = now_us // self._period
        now, before = self._at(number)
        windows = 2 if now else 1 if before else 0
        return (number + windows) * self._period - now_us if windows else 0

    def change(self, limit: int, rate: int) -> None:
        self._limit = limit

    def hear(self, state: State, now_us: int) -> None:
        """state: the number of the window, what is used of it, and of the one before."""
        self._number, self._now, self._before = int(state[0]), int(state[1]), int(state[2])

    def state(self) -> State:
        return self._number, self._now, self._before

    def _when_left(self, before: int, room: int) -> int:
        """Return how far in a window no more than `room` counts of what the one before had."""
        # One more: what is left is reckoned in floating point.
        return self._period - room * self._period // before + 1

    def _at(self, number: int) -> tuple[int, int]:
        """Return what is used of this window, and of the one before."""
        if number <= self._number:
            return self._now, self._before
        return 0, self._now if number == self._number + 1 else 0

    def _advance(self, now_us: int) -> None:
        number = now_us // self._period
        self._now, self._before = self._at(number)
        self._number = number


class Bucket:
    __slots__ = ("__weakref__", "_at", "_burst", "_period", "_rate", "_used")

    def __init__(self, burst: int, rate: int, period_us: int) -> None:
        self._burst = burst
        self._rate = rate
        self._period = period_us
        self._used = 0.0
        self._at = 0

    def used(self, now_us: int) -> int:
        return ceil(self._used_at(now_us) - ROUNDING)

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        self._advance(now_us)
        if ceil(self._used - ROUNDING) + amount > limit:
            return False
        self._used += amount
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        self._advance(now_us)
        self._used = max(self._used + delta, 0.0)

    def wait_us(self, amount: int, now_us: int) -> int:
        over = self.used(now_us) + amount - self._burst
        return self._time_for(over) + 1 if over > 0 else 0

    def empty_in_us(self, now_us: int) -> int:
        return self._time_for(self.used(now_us))

    def change(self, limit: int, rate: int) -> None:
        self._burst, self._rate = limit, rate

    def hear(self, state: State, now_us: int) -> None:
        """state: when it was reckoned, and what is used."""
        self._at, self._used = int(state[0]), float(state[1])

    def state(self) -> State:
        return self._at, self._used

    def _time_for(self, amount: int) -> int:
        return -(-amount * self._period // self._rate)

    def _used_at(self, now_us: int) -> float:
        passed_us = max(now_us - self._at, 0)
        return max(self._used - float(passed_us) * self._rate / self._period, 0.0)

    def _advance(self, now_us: int) -> None:
        self._used, self._at = self._used_at(now_us), now_us


def make_counter(rule: LimitRule) -> KeptCounter:
    """Return a new counter for the rule."""
    if rule.algorithm == "fixed_window":
        return FixedWindow(rule.maximum, rule.period, rule.timezone)
    period_us = PERIOD_US[rule.period]
    if rule.algorithm == "sliding_window":
        return SlidingWindow(rule.maximum, period_us)
    if rule.algorithm == "token_bucket":
        return Bucket(limit_of(rule), rule.maximum, period_us)
    return RollingWindow(rule.maximum, period_us)


def counter_id(rule: LimitRule) -> str:
    """Return what names the counter of a rule: one row can count for each of many."""
    return f"{rule.rule_id}:{rule.owner}"


def limit_of(rule: LimitRule) -> int:
    """Return how much of the rule may be used at once."""
    return (rule.burst or rule.maximum) if rule.algorithm == "token_bucket" else rule.maximum


def counts_alike(one: LimitRule, other: LimitRule) -> bool:
    """True when what was counted for one rule goes on to count for the other."""
    return what_it_counts(one) == what_it_counts(other)


def what_it_counts(rule: LimitRule) -> tuple[str, str, str, str]:
    """Return what the counter of a rule counts, and how."""
    return rule.metric, rule.period, rule.algorithm, rule.timezone
