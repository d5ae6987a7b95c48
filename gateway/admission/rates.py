"""Where a caller stands under its limits on requests and tokens, for the heads of its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gateway.admission.counter_protocols import RateCounter
from gateway.admission.limit_rules import Plan, RuleState
from gateway.admission.limit_windows import US_PER_S
from gateway.core.rate_limit_status import RateLimitStatus

NS_PER_US = 1_000


class Rates:
    """The limits that a caller is under. Any thread may ask for them."""

    __slots__ = ("_counters", "_now_us", "plan")

    def __init__(
        self, counters: Sequence[RateCounter], plan: Plan | None, now_us: Callable[[], int]
    ) -> None:
        self._counters = counters
        self._now_us = now_us
        # The rules that the caller comes under, or its call once that is known; None for none.
        self.plan = plan

    def requests(self) -> RateLimitStatus | None:
        plan = self.plan
        rule = self._tightest(plan.requests) if plan is not None and plan.requests else None
        if not self._counters:
            return rule
        now_ns = time.monotonic_ns()
        tightest = min(self._counters, key=lambda counter: counter.remaining(now_ns))
        remaining = tightest.remaining(now_ns)
        if rule is not None and rule.remaining < remaining:
            return rule
        full_in_us = -(-tightest.full_in_ns(now_ns) // NS_PER_US)
        return make_status(tightest.burst, remaining, full_in_us, tightest.per_minute)

    def tokens(self) -> RateLimitStatus | None:
        plan = self.plan
        return self._tightest(plan.tokens) if plan is not None and plan.tokens else None

    def _tightest(self, rules: Sequence[RuleState]) -> RateLimitStatus | None:
        now_us = self._now_us()
        tightest, least = None, 0
        for state in rules:
            if state.counter is None:
                continue
            left = state.limit - state.counter.used(now_us)
            if tightest is None or left < least:
                tightest, least = state, left
        if tightest is None or tightest.counter is None:
            return None
        empty_in_us = tightest.counter.empty_in_us(now_us)
        return make_status(tightest.limit, max(least, 0), empty_in_us, tightest.rule.maximum)


def make_status(limit: int, remaining: int, reset_in_us: int, per_period: int) -> RateLimitStatus:
    reset_us = time.time_ns() // NS_PER_US + reset_in_us
    # Both rounded up.
    return RateLimitStatus(
        limit, remaining, -(-reset_us // US_PER_S), -(-reset_in_us // US_PER_S), per_period
    )
