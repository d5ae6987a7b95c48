"""Random histories under rules that applied from the start: the backtest refuses the same calls."""

from __future__ import annotations

import asyncio
import heapq
from datetime import timedelta
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.admission.lease import Lease
from gateway.admission.limit_rules import Amounts
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limits
from gateway.backtest.past_calls import Scope
from gateway.backtest.rule_file import DEFAULTS
from gateway.backtest.rule_set import RuleSet
from gateway.backtest.run import backtest
from gateway.core.admission_steps import numbers_of
from gateway.core.errors import GatewayError
from gateway.core.money import Usage
from gateway.core.receipt import Receipt
from gateway.models import CallRecord
from keys.limit_rules import (
    RuleHolder,
    for_each_key,
    for_installation,
    for_key,
    for_workspace,
    unsaved_rule,
)
from keys.models import ApiKey, LimitRule
from tests.factories import make_key, make_workspace
from tests.gateway.admission.counting import never
from tests.gateway.admission.rule_clock import NOON_US, Clock, TimedMemory
from tests.gateway.backtest.records import make_record, moment

pytestmark = pytest.mark.django_db
HISTORIES = 100
US_PER_MS = 1_000


class Made(NamedTuple):
    """A call after a pause. used: of the tokens that it may use at most."""

    pause_ms: int
    key: int
    prompt: int
    most: int
    used: int
    runs_ms: int


class Limit(NamedTuple):
    holder: int
    metric: str
    maximum: int
    period: str
    algorithm: str


pauses_ms = st.one_of(
    st.integers(0, 3_000), st.sampled_from([0, 1, 59_999, 60_000, 61_000, 600_000, 4_000_000])
)
calls = st.lists(
    st.builds(
        Made,
        pauses_ms,
        st.integers(0, 1),
        st.integers(1, 40),
        st.integers(0, 40),
        st.integers(0, 40),
        st.integers(0, 90_000),
    ),
    min_size=1,
    max_size=25,
)
limits = st.lists(
    st.builds(
        Limit,
        st.integers(0, 3),
        st.sampled_from(
            ["requests", "tokens", "prompt_tokens", "completion_tokens", "cost_micro_usd"]
        ),
        st.integers(1, 200),
        st.sampled_from(["second", "minute", "minute", "hour", "day", "month"]),
        st.sampled_from(["rolling", "fixed_window", "sliding_window", "token_bucket"]),
    ),
    min_size=1,
    max_size=4,
)


class Live:
    """Makes calls under rules by a clock that is set, and keeps their records."""

    def __init__(self, keys: list[ApiKey], rules: list[LimitRule]) -> None:
        self.records: list[CallRecord] = []
        self._clock = Clock()
        self._limits = Limits(TimedMemory(self._clock))
        self._keys = keys
        compiled = RuleSet(rules)
        self._records = compiled.load_keys([(key.pk, key.workspace_id) for key in keys])
        self._outer = compiled.of_model("fake-model")
        self._running: list[tuple[int, int, Lease, Receipt]] = []
        self._numbers = count()

    async def make(self, calls: list[Made]) -> None:
        at_us = NOON_US
        for call in calls:
            at_us += call.pause_ms * US_PER_MS
            while self._running and self._running[0][0] <= at_us:
                ends_us, _, lease, receipt = heapq.heappop(self._running)
                self._clock.set(ends_us)
                lease.settle(receipt)
                lease.end()
            self._clock.set(at_us)
            await self._make(call, at_us)

    async def _make(self, call: Made, at_us: int) -> None:
        key = self._keys[call.key]
        used = min(call.used, call.most)
        # A token of output costs 2 nano-USD.
        hold_nusd, charge_nusd = call.prompt + 2 * call.most, call.prompt + 2 * used
        wanted = LimitedCall(
            self._records[key.pk, key.workspace_id],
            "fake-model",
            Amounts(1, call.prompt, call.most, hold_nusd),
            self._outer,
        )
        try:
            lease = await self._limits.acquire(wanted, never)
        except GatewayError as error:
            refusal = {"step": "limits", **numbers_of(error)}
            fields = {"status": "refused", "charge_basis": "", "refusal": refusal}
            self.records.append(make_record(key, moment(at_us), **fields))
            return
        usage = Usage(call.prompt, used)
        receipt = Receipt(status="ok", charge_basis="usage", usage=usage, charge_nusd=charge_nusd)
        # No call ends at the moment in which another begins.
        runs_us = call.runs_ms * US_PER_MS + 7
        heapq.heappush(self._running, (at_us + runs_us, next(self._numbers), lease, receipt))
        self.records.append(
            make_record(
                key,
                moment(at_us),
                prompt_tokens=call.prompt,
                completion_tokens=used,
                hold_nusd=hold_nusd,
                charge_nusd=charge_nusd,
                total_us=runs_us,
            )
        )


def rule_of(limit: Limit, holder: RuleHolder) -> LimitRule:
    # All of these calls cost some 3,000 nano-USD at most.
    is_cost = limit.metric == "cost_micro_usd"
    maximum = 1_000 * (1 + limit.maximum % 2) if is_cost else limit.maximum
    values = {"metric": limit.metric, "maximum": maximum}
    return unsaved_rule(
        holder, {**DEFAULTS, **values, "period": limit.period, "algorithm": limit.algorithm}
    )


def test_the_same_calls_are_refused() -> None:
    workspace = make_workspace()
    keys = [make_key(workspace).key, make_key(workspace).key]
    holders = [for_installation(), for_workspace(workspace), for_each_key(workspace)]
    holders.append(for_key(keys[0]))

    all_refused = 0

    @settings(max_examples=HISTORIES, suppress_health_check=list(HealthCheck), deadline=None)
    @given(limits, calls)
    def holds(limits: list[Limit], calls: list[Made]) -> None:
        nonlocal all_refused
        rules = [rule_of(limit, holders[limit.holder]) for limit in limits]
        live = Live(keys, rules)
        asyncio.run(live.make(calls))
        CallRecord.objects.all().delete()
        CallRecord.objects.bulk_create(live.records)
        day = timedelta(days=1)
        scope = Scope(since=moment(NOON_US), until=live.records[-1].created_at + day)

        found = backtest(rules, scope, lists=True)

        refused = [record.id for record in live.records if record.status == "refused"]
        assert found.listed is not None
        assert [call_id for call_id, _ in found.listed] == refused
        assert (found.calls, found.refused) == (len(calls), len(refused))

        all_refused += len(refused)

    holds()
    assert all_refused
