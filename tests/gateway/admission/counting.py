"""Processes that count limits, in memory or together in Redis, and calls of their keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from gateway.admission.counter_protocols import Counters
from gateway.admission.limits import Lease, Limits, QueueLimits
from gateway.admission.memory_counters import MemoryCounters, MemorySpending
from gateway.core.errors import GatewayError
from gateway.core.redis_address import read_redis_url
from gateway.core.spent import Reading, Spent
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord
from gateway.stores.redis_counters import RedisCounters
from gateway.stores.redis_rates import Share
from tests.support.redis import RedisServer
from tests.support.waiting import async_wait_until

WAIT_S = 10.0  # for a Redis on a busy machine
HALF = Share(2, 0)


async def nothing_spent(key_id: str) -> Reading:
    return Reading(Spent(0, 0, 0), time.time(), 0)


async def never() -> None:
    await asyncio.Event().wait()


async def soon(is_so: Callable[[], bool]) -> None:
    async def look() -> bool:
        return is_so()

    await async_wait_until(look)


def make_key(
    of_key: CallLimits | None = None, of_workspace: CallLimits | None = None, key_id: str = "key"
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
        limits=KeyLimits(of_key or CallLimits(), of_workspace or CallLimits(), None),
    )


async def enter(limits: Limits, key: KeyRecord) -> Lease:
    assert key.limits is not None
    return await limits.acquire(key, key.limits, "model", 0, never)


async def refused(entering: Awaitable[Lease]) -> GatewayError | None:
    try:
        await entering
    except GatewayError as error:
        return error
    return None


def remaining(limits: Limits, key: KeyRecord) -> int:
    assert key.limits is not None
    rates = limits.rates_of(key, key.limits)
    assert rates is not None
    return rates.status().remaining


def redis_counters(
    server: RedisServer, name: str, *, share: Share = HALF, wait_s: float = WAIT_S
) -> RedisCounters:
    async def look() -> Share:
        return share

    return RedisCounters(
        read_redis_url(server.url),
        name=lambda: name,
        look=look,
        spending=lambda key_id: MemorySpending(key_id, nothing_spent),
        wait_s=wait_s,
    )


@asynccontextmanager
async def serving(
    counters: Sequence[Counters], *, queue_s: float = 30.0, max_queue: int = 100
) -> AsyncIterator[list[Limits]]:
    """Start the counters; yield the limits of one process each."""
    processes = [Limits(each, QueueLimits(queue_s, max_queue)) for each in counters]
    for limits in processes:
        await limits.start()
    try:
        yield processes
    finally:
        for limits in processes:
            limits.close()
            await limits.aclose()


def memory_counters() -> MemoryCounters:
    return MemoryCounters(nothing_spent)
