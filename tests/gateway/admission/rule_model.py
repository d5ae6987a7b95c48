"""What rules allow, by their definition: every call is kept, and counted anew each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from gateway.admission.limit_rules import Amounts
from gateway.admission.limit_windows import PERIOD_US, window_around
from gateway.admission.rolling_window import PARTS
from gateway.admission.rule_counters import ROUNDING
from gateway.snapshot.types import LimitRule

LEVELS = ["installation", "model", "workspace", "member", "key"]
Event = list[int]  # when, and how much


@dataclass
class ModelRule:
    rule: LimitRule
    events: list[Event] = field(default_factory=list)
    # Of a bucket.
    level: Fraction = Fraction(0)
    at_us: int = 0

    @property
    def limit(self) -> int:
        rule = self.rule
        return (rule.burst or rule.maximum) if rule.algorithm == "token_bucket" else rule.maximum

    def used(self, now_us: int) -> int:
        rule, events = self.rule, self.events
        period_us = PERIOD_US[rule.period]
        if rule.algorithm == "token_bucket":
            flown = Fraction((now_us - self.at_us) * rule.maximum, period_us)
            return ceil(max(self.level - flown, Fraction(0)) - Fraction(ROUNDING))
        if rule.algorithm == "fixed_window":
            start, _ = window_around(rule.period, rule.timezone, now_us)
            return sum(amount for at_us, amount in events if at_us >= start)
        if rule.algorithm == "sliding_window":
            number, passed_us = divmod(now_us, period_us)
            now = sum(amount for at_us, amount in events if at_us // period_us == number)
            before = sum(amount for at_us, amount in events if at_us // period_us == number - 1)
            return now + ceil(Fraction(before * (period_us - passed_us), period_us))
        width_us = -(-period_us // PARTS)
        oldest = (now_us - period_us) // width_us
        return sum(amount for at_us, amount in events if at_us // width_us >= oldest)

    def add(self, amount: int, now_us: int) -> Event:
        self._flow(now_us)
        self.level += amount
        self.events.append([now_us, amount])
        return self.events[-1]

    def correct(self, event: Event, amount: int, now_us: int) -> None:
        self._flow(now_us)
        self.level = max(self.level + amount - event[1], Fraction(0))
        event[1] = amount

    def _flow(self, now_us: int) -> None:
        flown = Fraction((now_us - self.at_us) * self.rule.maximum, PERIOD_US[self.rule.period])
        self.level = max(self.level - flown, Fraction(0))
        self.at_us = now_us


class Model:
    """rules: in any order; they refuse in the order of their levels."""

    def __init__(self, rules: list[LimitRule]) -> None:
        ordered = sorted(rules, key=lambda rule: LEVELS.index(rule.level))
        self.rules = [ModelRule(rule) for rule in ordered]

    def enter(self, amounts: Amounts, now_us: int) -> tuple[str, list[Event]]:
        """Return the id of the rule that refuses, or empty and what was counted of each."""
        for each in self.rules:
            if each.used(now_us) + amounts.of(each.rule.metric) > each.limit:
                return each.rule.rule_id, []
        return "", [each.add(amounts.of(each.rule.metric), now_us) for each in self.rules]

    def settle(self, events: list[Event], used: Amounts, now_us: int) -> None:
        for each, event in zip(self.rules, events, strict=True):
            each.correct(event, used.of(each.rule.metric), now_us)

    def remaining(self, metric: str, now_us: int) -> tuple[int, int] | None:
        """Return what is left of the tightest rule for a metric, and its limit of a period."""
        found = [
            (max(each.limit - each.used(now_us), 0), each.rule.maximum)
            for each in self.rules
            if each.rule.metric == metric
        ]
        return min(found, key=lambda pair: pair[0], default=None)
