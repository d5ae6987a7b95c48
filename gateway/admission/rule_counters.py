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

from gateway.admission.current_part import CurrentPart
from gateway.admission.limit_windows import PERIOD_US, window_around
from gateway.admission.rolling_window import RollingWindow
from gateway.snapshot.types import LimitRule

# A bucket is reckoned in floating point: so little above a whole number is that number.
ROUNDING = 1e-6
State = tuple[float, ...]


class RuleCounter(Protocol):
    """What one rule counts."""

    @property
    def current(self) -> CurrentPart:
        """It is counted in directly where that is all that has to be done."""

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
    """Its current part is the whole window."""

    __slots__ = ("__weakref__", "_period", "_timezone", "current")

    def __init__(self, limit: int, period: str, timezone: str) -> None:
        self._period = period
        self._timezone = timezone
        self.current = CurrentPart(limit)

    def start(self, now_us: int) -> int:
        """Return when the present window began."""
        self._advance(now_us)
        return self.current.since

    def used(self, now_us: int) -> int:
        return self.current.total if now_us < self.current.until else 0

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        self._advance(now_us)
        total = self.current.total + amount
        if total > limit:
            return False
        self.current.total = total
        return True

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        self._advance(now_us)
        if at_us >= self.current.since:
            self.current.total = max(self.current.total + delta, 0)

    def wait_us(self, amount: int, now_us: int) -> int:
        fits = self.used(now_us) + amount <= self.current.limit
        return 0 if fits else self.current.until - now_us

    def empty_in_us(self, now_us: int) -> int:
        return self.current.until - now_us if self.used(now_us) else 0

    def change(self, limit: int, rate: int) -> None:
        self.current.limit = limit

    def hear(self, state: State, now_us: int) -> None:
        """state: when the window began, and what is used of it."""
        self._begin(int(state[0]))
        self.current.total = int(state[1])

    def state(self) -> State:
        return self.current.since, self.current.total

    def _advance(self, now_us: int) -> None:
        current = self.current
        if current.since <= now_us < current.until:
            return
        if now_us >= current.until:
            current.total = 0
        self._begin(now_us)

    def _begin(self, at_us: int) -> None:
        """Make the window around this moment the present one."""
        since, until = window_around(self._period, self._timezone, at_us)
        self.current.begin(since, until, empty_at=until)


class SlidingWindow:
    __slots__ = ("__weakref__", "_before", "_now", "_number", "_period", "current")

    def __init__(self, limit: int, period_us: int) -> None:
        self.current = CurrentPart(limit)
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
        if self.used(now_us) + amount <= self.current.limit:
            return 0
        passed_us = now_us - self._number * self._period
        room = self.current.limit - amount - self._now
        if room >= 0:
            return self._when_left(self._before, room) - passed_us
        left = self._when_left(self._now, self.current.limit - amount)
        return self._period - passed_us + max(left, 0)

    def empty_in_us(self, now_us: int) -> int:
        number = now_us // self._period
        now, before = self._at(number)
        windows = 2 if now else 1 if before else 0
        return (number + windows) * self._period - now_us if windows else 0

    def change(self, limit: int, rate: int) -> None:
        self.current.limit = limit

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
    __slots__ = ("__weakref__", "_at", "_period", "_rate", "_used", "current")

    def __init__(self, burst: int, rate: int, period_us: int) -> None:
        self.current = CurrentPart(burst)
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
        over = self.used(now_us) + amount - self.current.limit
        return self._time_for(over) + 1 if over > 0 else 0

    def empty_in_us(self, now_us: int) -> int:
        return self._time_for(self.used(now_us))

    def change(self, limit: int, rate: int) -> None:
        self.current.limit, self._rate = limit, rate

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
