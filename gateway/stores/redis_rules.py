"""What one rule counts, counted in Redis; what is known of it here, and what Redis has to be told.

The counter of this process follows what Redis said last: it is what answers tell of, and what goes
on counting while Redis is away. Then each amount counts for the other processes, too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from gateway.admission.counter_protocols import Correction, Reserved
from gateway.admission.limit_windows import OF_THE_CALENDAR, PERIOD_US, window_around
from gateway.admission.rolling_window import PARTS
from gateway.admission.rule_counters import (
    FixedWindow,
    State,
    counter_id,
    limit_of,
    make_counter,
)
from gateway.snapshot.types import LimitRule
from gateway.stores.redis_connection import Part
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_rates import NS_PER_US, Share
from gateway.stores.redis_scripts import CORRECT_SCRIPT

# All rules are in one: a call asks for several at once.
HASH_SLOT = "rules"
Numbers = tuple[int, int, int, int]


class SharedRule:
    """key: of its hash in Redis. unsaid: what was counted while Redis was away, by when."""

    __slots__ = (
        *("_counter", "_heard", "_limit", "_numbers", "_rate", "_rule", "current", "key"),
        "unsaid",
    )

    def __init__(self, rule: LimitRule) -> None:
        self.key = f"tollhouse:{{{HASH_SLOT}}}:rule:{counter_id(rule)}"
        self.unsaid: dict[int, int] = {}
        self._rule = rule
        self._counter = make_counter(rule)
        self.current = self._counter.current
        # What Redis said last.
        self._heard: State = ()
        self._limit, self._rate = limit_of(rule), rule.maximum
        self._numbers: Numbers = (0, 0, 0, 0)

    # What makes it a RuleCounter of gateway.admission.rule_counters

    def used(self, now_us: int) -> int:
        return self._counter.used(now_us)

    def add(self, amount: int, now_us: int, limit: float = inf) -> bool:
        return self._counter.add(amount, now_us, limit)

    def correct(self, delta: int, at_us: int, now_us: int) -> None:
        self._counter.correct(delta, at_us, now_us)

    def wait_us(self, amount: int, now_us: int) -> int:
        return self._counter.wait_us(amount, now_us)

    def empty_in_us(self, now_us: int) -> int:
        return self._counter.empty_in_us(now_us)

    def change(self, limit: int, rate: int) -> None:
        self._limit, self._rate = limit, rate
        self._counter.change(limit, rate)

    def hear(self, state: State, now_us: int) -> None:
        self._heard = state
        self._counter.hear(state, now_us)

    # What Redis is asked and told

    def words(self, amount: int, now_us: int, at_us: int = 0) -> Sequence[Part]:
        """Return the nine arguments of a script (gateway.stores.redis_rule_scripts)."""
        return self._words(amount, now_us, at_us, self._counter.used(now_us))

    def keep_unsaid(self, amount: int, at_us: int) -> None:
        """Redis is away and has to be told later."""
        moment = self._moment_of(at_us)
        self.unsaid[moment] = self.unsaid.get(moment, 0) + amount

    def take_unsaid(self, now_us: int) -> list[Sequence[Part]]:
        """Return what Redis has to be told, and forget it."""
        unsaid, self.unsaid = self.unsaid, {}
        heard = make_counter(self._rule)
        if self._heard:
            heard.hear(self._heard, now_us)
        declared = heard.used(now_us)
        return [self._words(amount, now_us, at_us, declared) for at_us, amount in unsaid.items()]

    def fits_share(self, amount: int, share: Share, now_us: int) -> bool:
        weight = share.weight(self._limit)
        return bool(weight) and self._counter.used(now_us) + amount * weight <= self._limit

    def take_share(self, reserved: Reserved, share: Share, now_us: int) -> None:
        """Count what fits into this process's share."""
        weight = share.weight(self._limit)
        self._counter.add(reserved.amount * weight, now_us)
        reserved.at_us, reserved.weight = now_us, weight

    def _words(self, amount: int, now_us: int, at_us: int, declared: int) -> Sequence[Part]:
        numbers = self._numbers_at(now_us)
        return (self._rule.algorithm, amount, self._limit, *numbers, declared, at_us)

    def _numbers_at(self, now_us: int) -> Numbers:
        if self._rule.algorithm == "fixed_window":
            return self._windows_at(now_us)
        period_us = PERIOD_US[self._rule.period]
        if self._rule.algorithm == "rolling":
            return -(-period_us // PARTS), period_us, 0, 0
        if self._rule.algorithm == "sliding_window":
            return period_us, 0, 0, 0
        return self._rate, period_us, 0, 0

    def _windows_at(self, now_us: int) -> Numbers:
        """Return when the window before, this one and the next one begin, by the calendar; or how
        long each is."""
        if self._rule.period not in OF_THE_CALENDAR:
            return 0, 0, 0, PERIOD_US[self._rule.period]
        _, start, end, _ = self._numbers
        if not start <= now_us < end:
            start, end = window_around(self._rule.period, self._rule.timezone, now_us)
            before, _ = window_around(self._rule.period, self._rule.timezone, start - 1)
            self._numbers = (before, start, end, 0)
        return self._numbers

    def _moment_of(self, at_us: int) -> int:
        """Return a moment for all that are counted alike with this one."""
        if isinstance(self._counter, FixedWindow):
            return window_around(self._rule.period, self._rule.timezone, at_us)[0]
        width_us = -(-PERIOD_US[self._rule.period] // PARTS)
        return at_us // width_us * width_us


class Now(NamedTuple):
    """The present: nanoseconds of time.monotonic_ns, and Redis's microseconds since the epoch."""

    ns: int
    us: int


class SharedRules:
    """What the rules of one process have in common: Redis's clock, and what Redis is told."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        # How far Redis's clock is ahead of this host's.
        self._ahead_us = 0
        # Redis has to be told of them when it is back.
        self._owing: set[SharedRule] = set()

    def now_us(self) -> int:
        return time.time_ns() // NS_PER_US + self._ahead_us

    def now(self) -> Now:
        return Now(time.monotonic_ns(), self.now_us())

    def hear_now(self, redis_us: int) -> None:
        """Redis says what time it is."""
        self._ahead_us = redis_us - time.time_ns() // NS_PER_US

    def correct(self, corrections: Sequence[Correction]) -> None:
        """As MemoryCounters, in Redis and in what is known of it here."""
        now_us = self.now_us()
        told: list[tuple[SharedRule, Sequence[Part]]] = []
        for reserved, delta in corrections:
            rule = reserved.counter
            if not isinstance(rule, SharedRule):
                continue
            if self._link.is_up:
                told.append((rule, rule.words(delta, now_us, reserved.at_us)))
                rule.correct(delta, reserved.at_us, now_us)
            else:
                rule.correct(delta * reserved.weight, reserved.at_us, now_us)
                self.owe(rule, delta, reserved.at_us)
        self._tell(told)

    def owe(self, rule: SharedRule, amount: int, at_us: int) -> None:
        """Have Redis told when it is back."""
        rule.keep_unsaid(amount, at_us)
        self._owing.add(rule)

    def on_up(self) -> None:
        """Redis is back."""
        now_us = self.now_us()
        unsaid = [(rule, words) for rule in self._owing for words in rule.take_unsaid(now_us)]
        self._owing.clear()
        self._tell(unsaid)

    def _tell(self, told: Sequence[tuple[SharedRule, Sequence[Part]]]) -> None:
        if told:
            arguments = [word for _, words in told for word in words]
            self._link.tell(CORRECT_SCRIPT, [rule.key for rule, _ in told], *arguments)
