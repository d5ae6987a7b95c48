"""Counters that two processes share, made in the way of any that are not in memory: every answer is
waited for."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

from gateway.admission.concurrency_limiter import ConcurrencyLimiter
from gateway.admission.counter_protocols import Correction, HangUp, QueueLimits, ReadSpent
from gateway.admission.limits import Limits
from gateway.admission.memory_spending import MemorySpendings
from gateway.admission.request_rate import TokenBucket
from gateway.admission.rule_counters import RuleCounter, make_counter
from gateway.admission.spending import Spending
from gateway.core.budget_owner import key_owner
from gateway.core.errors import ConcurrencyLimited, KeyLimitExceeded, RateLimited
from gateway.core.fair_queue import Owner
from gateway.runtime import counter_backends
from gateway.runtime.counter_backends import CounterParts, MakeCounters
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, LimitRule, SpendingLimits
from tests.gateway.admission import counting
from tests.gateway.admission.counting import nothing_spent


class Server:
    """What all processes ask; every question takes a pass of the loop."""

    def __init__(self) -> None:
        self.buckets: dict[str, TokenBucket] = {}
        self.running = Counter[str]()
        self.spending: defaultdict[str, Spending] = defaultdict(Spending)
        self.questions = 0
        self.is_closed = False

    async def asked(self) -> None:
        self.questions += 1
        await asyncio.sleep(0)


class SharedRate(TokenBucket):
    """Keeps what it heard last for the headers, and counts at the server."""

    def __init__(self, server: Server, owner: str, per_minute: int, burst: int) -> None:
        super().__init__(per_minute, burst, time.monotonic_ns())
        self._server, self._owner = server, owner

    def try_take(self, now_ns: int) -> bool:
        return False

    async def take(self, now_ns: int) -> int:
        await self._server.asked()
        bucket = self._server.buckets.setdefault(
            self._owner, TokenBucket(self.per_minute, self.burst, now_ns)
        )
        return await bucket.take(now_ns)

    def give_back(self, now_ns: int) -> None:
        self._server.buckets[self._owner].give_back(now_ns)


class SharedConcurrency(ConcurrencyLimiter):
    """Asks again and again until there is a slot."""

    def __init__(self, server: Server, owner: str, limit: int) -> None:
        super().__init__(limit)
        self._server, self._owner = server, owner

    def try_acquire(self) -> bool:
        return False

    async def acquire(self, owner: Owner, limits: QueueLimits, wait_for_hang_up: HangUp) -> None:
        async with asyncio.timeout(limits.queue_s):
            while self._server.running[self._owner] >= self.limit:
                await self._server.asked()
        self._server.running[self._owner] += 1

    def release(self) -> None:
        self._server.running[self._owner] -= 1


class SharedSpending:
    is_counting = True

    def __init__(self, server: Server, read_spent: ReadSpent) -> None:
        self._server, self._read_spent = server, read_spent

    def try_hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> bool:
        return False

    async def hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> None:
        await self._server.asked()
        for limits in budgets:
            spending = self._server.spending[limits.owner.id]
            if not spending.is_read:
                spending.read(await self._read_spent(limits))
            if refusal := spending.find_refusal(limits, want_nusd, time.time()):
                raise refusal
        for limits in budgets:
            self._server.spending[limits.owner.id].hold(want_nusd)

    def release(self, budgets: Sequence[SpendingLimits], hold_nusd: int) -> None:
        for limits in budgets:
            self._server.spending[limits.owner.id].release(hold_nusd)

    def charge(self, owners: Sequence[str], charge_nusd: int, at: float, record: int) -> None:
        for owner in owners:
            self._server.spending[owner].charge(charge_nusd, at, record)

    def invalidate(self, owner_id: str = "") -> None:
        for spending in self._server.spending.values():
            spending.invalidate()


class SharedCounters:
    levels = None

    def __init__(self, server: Server, read_spent: ReadSpent) -> None:
        self._server, self._read_spent = server, read_spent

    async def start(self) -> None:
        """Nothing has to be opened."""

    def rate(self, owner: str, per_minute: int, burst: int, *, workspace_id: str) -> SharedRate:
        return SharedRate(self._server, owner, per_minute, burst)

    def concurrency(self, owner: str, limit: int, *, workspace_id: str) -> SharedConcurrency:
        return SharedConcurrency(self._server, owner, limit)

    def spending(self) -> SharedSpending:
        return SharedSpending(self._server, self._read_spent)

    def rule(self, rule: LimitRule) -> RuleCounter:
        return make_counter(rule)

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def correct(self, corrections: Sequence[Correction]) -> None:
        """No test has rules here."""

    async def aclose(self) -> None:
        self._server.is_closed = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Counters of a new name, added as one row."""
    server = Server()
    backend: MakeCounters = lambda parts: SharedCounters(server, parts.read_spent)  # noqa: E731
    monkeypatch.setitem(counter_backends.COUNTERS, "shared", backend)
    return server


def process() -> Limits:
    parts = CounterParts(nothing_spent, MemorySpendings(nothing_spent), str)
    counters = counter_backends.make_counters("shared", parts)
    return Limits(counters, QueueLimits(queue_s=0.01))


async def enter(limits: Limits, key_limits: KeyLimits, hold_nusd: int = 0) -> None:
    """Let a call in that goes on for ever."""
    key = KeyRecord(
        key_id="key",
        digest="digest",
        workspace_id="workspace",
        scopes=frozenset(),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
        limits=key_limits,
    )
    await counting.enter(limits, key, hold_nusd)


@pytest.mark.parametrize("holder", ["key", "workspace"])
async def test_two_processes_share_a_rate(server: Server, holder: str) -> None:
    tight, none = CallLimits(1, 2), CallLimits()
    limits = KeyLimits(tight, none, None) if holder == "key" else KeyLimits(none, tight, None)
    one, other = process(), process()

    await enter(one, limits)
    await enter(other, limits)

    with pytest.raises(RateLimited):
        await enter(one, limits)
    with pytest.raises(RateLimited):
        await enter(other, limits)


async def test_two_processes_share_slots(server: Server) -> None:
    limits = KeyLimits(CallLimits(at_once=1), CallLimits(), None)
    one, other = process(), process()

    await enter(one, limits)

    with pytest.raises(ConcurrencyLimited):
        await enter(other, limits)
    server.running["key"] = 0
    await enter(other, limits)


async def test_two_processes_share_a_budget(server: Server) -> None:
    limits = KeyLimits(
        CallLimits(), CallLimits(), (SpendingLimits(key_owner("key", "workspace"), total_nusd=100),)
    )
    one, other = process(), process()

    await enter(one, limits, 60)

    with pytest.raises(KeyLimitExceeded):
        await enter(other, limits, 60)
    await enter(other, limits, 40)


async def test_a_request_counted_before_another_limit_refuses_is_given_back(server: Server) -> None:
    limits = KeyLimits(CallLimits(1, 5, 1), CallLimits(1, 5), None)
    one = process()
    await enter(one, limits)

    with pytest.raises(ConcurrencyLimited):
        await enter(one, limits)

    now_ns = time.monotonic_ns()
    remaining = {owner: bucket.remaining(now_ns) for owner, bucket in server.buckets.items()}
    assert remaining == {"key": 4, "workspace": 4}


async def test_calls_of_keys_without_limits_ask_nobody(server: Server) -> None:
    await enter(process(), KeyLimits(CallLimits(), CallLimits(), None))

    assert server.questions == 0
