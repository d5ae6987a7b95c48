"""Random histories of calls under random rules, in memory and in Redis: each call is let in or
refused as the definition of the rules says, by the first rule that does not cover it, and the
headers of its answer say what is left.

`make prove-headers` runs many (HISTORIES=10000), `make test` a few.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.admission.lease import Lease
from gateway.admission.limit_rules import Amounts
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limits
from gateway.admission.memory_counters import MemoryCounters
from gateway.core.errors import GatewayError
from gateway.core.money import Usage
from gateway.core.receipt import Receipt
from gateway.http.rate_headers import rate_headers
from gateway.snapshot.types import KeyRecord, LimitRule
from gateway.stores.redis_counters import RedisCounters
from tests.gateway.admission.counting import make_key, never
from tests.gateway.admission.rule_clock import Clock, TimedMemory, timed_redis, told
from tests.gateway.admission.rule_model import LEVELS, Event, Model
from tests.support.redis import RedisServer, running_redis

HISTORIES = int(os.environ.get("HISTORIES", "60"))
MS = 1_000
METRICS = ["requests", "tokens", "prompt_tokens", "completion_tokens", "cost_micro_usd"]
numbers = count()


class Step(NamedTuple):
    """What happens after a pause. what: call, settle or withdraw; which: of the running calls."""

    pause_ms: int
    what: str
    which: int
    amounts: Amounts


amounts = st.builds(
    Amounts, st.just(1), st.integers(0, 40), st.integers(0, 40), st.integers(0, 200)
)
pauses_ms = st.one_of(
    st.integers(0, 3_000), st.sampled_from([0, 1, 59_999, 60_000, 61_000, 600_000, 4_000_000])
)
whats = st.sampled_from(["call", "call", "call", "settle", "settle", "free", "withdraw"])
histories = st.lists(
    st.builds(Step, pauses_ms, whats, st.integers(0, 9), amounts), min_size=1, max_size=25
)
rules = st.builds(
    LimitRule,
    rule_id=st.builds(lambda: str(next(numbers))),
    level=st.sampled_from(LEVELS),
    owner=st.just("x"),
    metric=st.sampled_from(METRICS),
    maximum=st.integers(1, 200),
    period=st.sampled_from(["second", "minute", "minute", "hour", "day", "week", "month"]),
    algorithm=st.sampled_from(["rolling", "fixed_window", "sliding_window", "token_bucket"]),
    burst=st.one_of(st.just(0), st.integers(1, 200)),
    per_request=st.just(False),
    models=st.none(),
    timezone=st.sampled_from(["UTC", "Asia/Kolkata"]),
)
rule_sets = st.lists(rules, min_size=1, max_size=5)


class History:
    """One history: the limits, and the model that they are held against."""

    def __init__(
        self, counters: MemoryCounters | RedisCounters, clock: Clock, rules: list[LimitRule]
    ) -> None:
        self._counters = counters
        self._clock = clock
        self._limits = Limits(counters)
        # The same rules, and none twice: each history has rules of its own.
        rules = [replace(rule, rule_id=str(next(numbers))) for rule in rules]
        self._model = Model(rules)
        own = tuple(rule for rule in rules if rule.level in LEVELS[2:])
        self._outer = tuple(rule for rule in rules if rule.level in LEVELS[:2])
        self._key: KeyRecord = make_key(rules=sorted_by_level(own))
        self._running: list[tuple[Lease, list[Event]]] = []

    async def follow(self, steps: list[Step]) -> None:
        for step in steps:
            self._clock.advance(step.pause_ms * MS)
            if step.what == "call":
                await self._call(step.amounts)
            elif self._running:
                lease, events = self._running.pop(step.which % len(self._running))
                self._end(step, lease, events)
                await told(self._counters)

    async def _call(self, amounts: Amounts) -> None:
        now_us = self._clock.us
        rates = self._limits.rates_of(self._key, self._outer)
        call = LimitedCall(self._key, "model", amounts, sorted_by_level(self._outer), rates)
        refused, events = self._model.enter(amounts, now_us)
        try:
            self._running.append((await self._limits.acquire(call, never), events))
            assert refused == ""
        except GatewayError as error:
            assert error.details["rule_id"] == refused  # noqa: PT017
        headers = dict(rate_headers(rates, 200))
        for metric in ("requests", "tokens"):
            name = metric.encode()
            expected = self._model.remaining(metric, now_us)
            found = headers.get(b"x-ratelimit-remaining-" + name)
            if expected is None:
                assert found is None
                continue
            left, _ = expected
            assert found is not None
            shown = int(headers[b"x-ratelimit-limit-" + name])
            assert int(found) == min(left, shown)
            assert shown in self._limits_of(metric, left)

    def _limits_of(self, metric: str, left: int) -> list[int]:
        """Return the limits of the rules of which so much is left."""
        now_us = self._clock.us
        return [
            each.rule.maximum
            for each in self._model.rules
            if each.rule.metric == metric and max(each.limit - each.used(now_us), 0) == left
        ]

    def _end(self, step: Step, lease: Lease, events: list[Event]) -> None:
        used = step.amounts
        if step.what == "withdraw":
            lease.withdraw()
            used = Amounts(0, 0, 0, 0)
        else:
            is_free = step.what == "free"
            basis = "zero_upstream" if is_free else "usage"
            usage = Usage(used.prompt_tokens, used.completion_tokens)
            charge_nusd = 0 if is_free else used.cost_nusd
            lease.settle(
                Receipt(status="ok", charge_basis=basis, usage=usage, charge_nusd=charge_nusd)
            )
            lease.end()
            used = Amounts(1, 0, 0, 0) if is_free else used
        self._model.settle(events, used, self._clock.us)


def sorted_by_level(rules: tuple[LimitRule, ...]) -> tuple[LimitRule, ...]:
    return tuple(sorted(rules, key=lambda rule: LEVELS.index(rule.level)))


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


many = settings(max_examples=HISTORIES, suppress_health_check=list(HealthCheck), deadline=None)


def test_in_memory() -> None:
    @many
    @given(rule_sets, histories)
    def holds(rules: list[LimitRule], steps: list[Step]) -> None:
        clock = Clock()
        asyncio.run(History(TimedMemory(clock), clock, rules).follow(steps))

    holds()


def test_in_redis(server: RedisServer) -> None:
    clock = Clock([server])
    with asyncio.Runner() as runner:
        timed = timed_redis(server, clock)
        counters = runner.run(timed.__aenter__())

        @many
        @given(rule_sets, histories)
        def holds(rules: list[LimitRule], steps: list[Step]) -> None:
            server.client.flushall()
            clock.set(Clock().us)
            runner.run(History(counters, clock, rules).follow(steps))

        try:
            holds()
            assert counters.state.outages == 0
        finally:
            runner.run(timed.__aexit__(None, None, None))
