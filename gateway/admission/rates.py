"""Where a caller stands under its limits on requests and tokens, for the heads of its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gateway.admission.counter_protocols import RateCounter
from gateway.admission.limit_rules import Plan, RuleState
from gateway.admission.limit_windows import US_PER_S
from gateway.admission.rule_counters import RuleCounter
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

    def statuses(self) -> tuple[RateLimitStatus | None, RateLimitStatus | None]:
        """Return where the caller stands with requests, and with tokens; None for no such limit."""
        plan, now_us = self.plan, self._now_us()
        requests = tokens = None
        if plan is not None:
            if plan.requests:
                requests = find_tightest(plan.requests, now_us)
            if plan.tokens:
                tokens = find_tightest(plan.tokens, now_us)
        return self._with_rates(requests) if self._counters else requests, tokens

    def _with_rates(self, rule: RateLimitStatus | None) -> RateLimitStatus:
        """Return what leaves least: a rate of the key or the workspace, or this rule."""
        now_ns = time.monotonic_ns()
        tightest = min(self._counters, key=lambda counter: counter.remaining(now_ns))
        remaining = tightest.remaining(now_ns)
        if rule is not None and rule.remaining < remaining:
            return rule
        full_in_us = -(-tightest.full_in_ns(now_ns) // NS_PER_US)
        return make_status(tightest.burst, remaining, full_in_us, tightest.per_minute)


def find_tightest(rules: Sequence[tuple[RuleState, RuleCounter]], now_us: int) -> RateLimitStatus:
    """Return the status of the rule that leaves least. There is at least one."""
    tightest, counter = rules[0]
    if len(rules) > 1:
        tightest, counter = min(rules, key=lambda rule: rule[0].limit - rule[1].used(now_us))
    current = tightest.current
    if now_us < current.until and current.total > current.settled:
        remaining = current.limit - current.total
        reset_s, reset_in_us = current.empty_at_s, current.empty_at - now_us
    else:
        remaining = current.limit - counter.used(now_us)
        reset_in_us = counter.empty_in_us(now_us)
        reset_s = -((-now_us - reset_in_us) // US_PER_S)
    return RateLimitStatus(
        current.limit,
        remaining if remaining > 0 else 0,
        # Both rounded up.
        reset_s,
        -(-reset_in_us // US_PER_S),
        tightest.rule.maximum,
    )


def make_status(limit: int, remaining: int, reset_in_us: int, per_period: int) -> RateLimitStatus:
    reset_us = time.time_ns() // NS_PER_US + reset_in_us
    # Both rounded up.
    return RateLimitStatus(
        limit, remaining, -(-reset_us // US_PER_S), -(-reset_in_us // US_PER_S), per_period
    )
