"""The rate and concurrency limits of one key or workspace: how much is used, and their errors."""

from __future__ import annotations

from sys import maxsize
from typing import NamedTuple, Protocol

from gateway.admission.counter_protocols import ConcurrencyCounter, Counters, RateCounter
from gateway.core.errors import ConcurrencyLimited, RateLimited
from gateway.snapshot.types import CallLimits

NS_PER_S = 10**9


class Holder(Protocol):
    """Who is limited: a key or a workspace, or what a rule is for. rule_id: empty for limits that
    are no rules."""

    @property
    def level(self) -> str: ...

    @property
    def holder(self) -> str: ...

    @property
    def rule_id(self) -> str: ...

    @property
    def concurrency(self) -> ConcurrencyCounter | None: ...


class Places(NamedTuple):
    """A limit on concurrent requests, and who is limited."""

    holder: Holder
    counter: ConcurrencyCounter


class LimiterState:
    """The counters of one key or workspace, None where it has no such limit.

    owner: its id. level: "token" or "organisation", as callers are told.
    """

    __slots__ = ("_counters", "_workspace_id", "concurrency", "level", "limits", "owner", "rate")

    rule_id = ""

    def __init__(self, owner: str, workspace_id: str, level: str, counters: Counters) -> None:
        self.owner = owner
        self.level = level
        self._workspace_id = workspace_id
        self._counters = counters
        self.rate: RateCounter | None = None
        self.concurrency: ConcurrencyCounter | None = None
        # Those that it follows.
        self.limits: CallLimits | None = None

    @property
    def holder(self) -> str:
        return "The API key" if self.level == "token" else "The workspace"

    def follow(self, limits: CallLimits, now_ns: int) -> None:
        """Apply these limits from now on; what was counted stays counted."""
        self.limits = limits
        rate, concurrency = self.rate, self.concurrency
        if limits.per_minute is None:
            self.rate = None
        elif rate is None:
            self.rate = self._counters.rate(
                self.owner, limits.per_minute, limits.burst, workspace_id=self._workspace_id
            )
        elif (rate.per_minute, rate.burst) != (limits.per_minute, limits.burst):
            rate.change(limits.per_minute, limits.burst, now_ns)
        limit = maxsize if limits.at_once is None else limits.at_once
        if concurrency is not None:
            if concurrency.limit != limit:
                concurrency.resize(limit)
        elif limits.at_once is not None:
            self.concurrency = self._counters.concurrency(
                self.owner, limit, workspace_id=self._workspace_id
            )

    def is_idle(self, now_ns: int) -> bool:
        """True when forgetting the state forgets nothing."""
        is_full = self.rate is None or not self.rate.full_in_ns(now_ns)
        return is_full and (self.concurrency is None or self.concurrency.is_idle)


def rate_limited(state: Holder, rate: RateCounter, model: str, wait_ns: int) -> RateLimited:
    return RateLimited(
        f"{state.holder} is limited to {rate.per_minute} requests per minute, burst {rate.burst}.",
        details=limit_details(state, "requests", "minute", rate.per_minute, rate.burst, model),
        retry_after_s=wait_ns / NS_PER_S,
    )


def concurrency_limited(
    state: Holder, limiter: ConcurrencyCounter, model: str, words: str
) -> ConcurrencyLimited:
    return ConcurrencyLimited(
        f"{state.holder} is limited to {limiter.limit} concurrent requests, {words}.",
        details=limit_details(
            state, "concurrent_requests", None, limiter.limit, limiter.in_use, model
        ),
        retry_after_s=1,
    )


def limit_details(
    state: Holder, metric: str, period: str | None, limit: int, current: int, model: str
) -> dict[str, object]:
    """Return which limit refuses a call, as details of the error (gateway contract, 7.5.3)."""
    rule = {"rule_id": state.rule_id} if state.rule_id else {}
    return {
        "model_id": model,
        "level": state.level,
        **rule,
        "limit": {"metric": metric, "period": period, "max": limit, "per_request": False},
        "current": current,
        "requested": 1,
    }
