"""Where a caller stands under its limits on requests and tokens, for the heads of its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil

from gateway.admission.counter_protocols import RateCounter
from gateway.admission.limit_rules import RuleState
from gateway.admission.limit_windows import US_PER_S
from gateway.core.rate_limit_status import RateLimitStatus

NS_PER_S = 10**9


class Rates:
    """The limits that a caller is under. Any thread may ask for them."""

    __slots__ = ("_counters", "_now_us", "_rules")

    def __init__(
        self,
        counters: Sequence[RateCounter],
        rules: Sequence[RuleState],
        now_us: Callable[[], int],
    ) -> None:
        self._counters = counters
        self._now_us = now_us
        self._rules = rules

    def follow(self, rules: Sequence[RuleState]) -> None:
        """These are the rules that a call of the caller comes under."""
        self._rules = rules

    def requests(self) -> RateLimitStatus | None:
        rule = self._tightest_rule("requests") if self._rules else None
        if not self._counters:
            return rule
        now_ns = time.monotonic_ns()
        tightest = min(self._counters, key=lambda counter: counter.remaining(now_ns))
        remaining = tightest.remaining(now_ns)
        if rule is not None and rule.remaining < remaining:
            return rule
        full_in_s = tightest.full_in_ns(now_ns) / NS_PER_S
        return make_status(tightest.burst, remaining, full_in_s, tightest.per_minute)

    def tokens(self) -> RateLimitStatus | None:
        return self._tightest_rule("tokens") if self._rules else None

    def _tightest_rule(self, metric: str) -> RateLimitStatus | None:
        now_us = 0
        tightest, least = None, 0
        for state in self._rules:
            if state.rule.metric != metric or state.counter is None:
                continue
            now_us = now_us or self._now_us()
            left = state.limit - state.counter.used(now_us)
            if tightest is None or left < least:
                tightest, least = state, left
        if tightest is None or tightest.counter is None:
            return None
        empty_in_s = tightest.counter.empty_in_us(now_us) / US_PER_S
        return make_status(tightest.limit, max(least, 0), empty_in_s, tightest.rule.maximum)


def make_status(limit: int, remaining: int, reset_in_s: float, per_period: int) -> RateLimitStatus:
    reset_s = ceil(time.time() + reset_in_s)
    return RateLimitStatus(limit, remaining, reset_s, ceil(reset_in_s), per_period)
