"""Processes that count limits, in memory or together in Redis, and calls of their keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from gateway.admission.counter_protocols import Counters, QueueLimits
from gateway.admission.lease import Lease
from gateway.admission.limit_rules import Amounts
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limits
from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.memory_spending import MemorySpendings
from gateway.core.errors import GatewayError
from gateway.core.money import Usage
from gateway.core.receipt import Receipt
from gateway.core.redis_address import read_redis_url
from gateway.core.spent import Reading, Spent
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, LimitRule, SpendingLimits
from gateway.stores.redis_counters import RedisCounters
from gateway.stores.redis_rates import Share
from tests.support.redis import RedisServer
from tests.support.waiting import async_wait_until

WAIT_S = 10.0  # for a Redis on a busy machine
HALF = Share(2, 0)
Serve = Callable[..., AbstractAsyncContextManager[tuple[Limits, Limits]]]


async def nothing_spent(limits: SpendingLimits) -> Reading:
    return Reading(Spent(), time.time(), 0)


async def never() -> None:
    await asyncio.Event().wait()


async def soon(is_so: Callable[[], bool]) -> None:
    async def look() -> bool:
        return is_so()

    await async_wait_until(look)


def make_key(
    of_key: CallLimits | None = None,
    of_workspace: CallLimits | None = None,
    key_id: str = "key",
    rules: tuple[LimitRule, ...] = (),
) -> KeyRecord:
    return KeyRecord(
        key_id=key_id,
        digest=key_id,
        workspace_id="workspace",
        scopes=frozenset(),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
        limits=KeyLimits(of_key or CallLimits(), of_workspace or CallLimits(), None, rules),
    )


def call_of(
    key: KeyRecord,
    hold_nusd: int = 0,
    *,
    tokens: tuple[int, int] = (0, 0),
    model: str = "model",
    rules: tuple[LimitRule, ...] = (),
) -> LimitedCall:
    return LimitedCall(key, model, Amounts(1, *tokens, hold_nusd), rules)


async def enter(
    limits: Limits, key: KeyRecord, hold_nusd: int = 0, *, tokens: tuple[int, int] = (0, 0)
) -> Lease:
    return await limits.acquire(call_of(key, hold_nusd, tokens=tokens), never)


def make_rule(level: str, metric: str, maximum: int, rule_id: str = "") -> LimitRule:
    """Return a rule of an hour; without one for what has no period."""
    period, algorithm = ("", "") if metric == "concurrent_requests" else ("hour", "rolling")
    return LimitRule(
        rule_id=rule_id or level,
        level=level,
        owner="o",
        metric=metric,
        maximum=maximum,
        period=period,
        algorithm=algorithm,
    )


def receipt(prompt: int, completion: int, charge_nusd: int = 0, basis: str = "usage") -> Receipt:
    return Receipt(
        status="ok", charge_basis=basis, usage=Usage(prompt, completion), charge_nusd=charge_nusd
    )


async def refused(entering: Awaitable[object]) -> GatewayError | None:
    try:
        await entering
    except GatewayError as error:
        return error
    return None


def remaining(limits: Limits, key: KeyRecord) -> int:
    found, _ = limits.rates_of(key, ()).statuses()
    assert found is not None
    return found.remaining


def redis_counters(
    server: RedisServer, name: str, *, share: Share = HALF, wait_s: float = WAIT_S
) -> RedisCounters:
    async def look() -> Share:
        return share

    return RedisCounters(
        read_redis_url(server.url),
        name=lambda: name,
        look=look,
        spending=MemorySpendings(nothing_spent),
        wait_s=wait_s,
    )


@asynccontextmanager
async def serving(
    counters: Sequence[Counters], *, queue_s: float = 30.0, max_queue: int = 100
) -> AsyncIterator[list[Limits]]:
    """Start the counters; yield the limits of one process each."""
    processes = [Limits(each, QueueLimits(queue_s, max_queue)) for each in counters]
    for limits in processes:
        await limits.counters.start()
    try:
        yield processes
    finally:
        for limits in processes:
            limits.close()
            await limits.counters.aclose()


def memory_counters() -> MemoryCounters:
    return MemoryCounters(nothing_spent)
