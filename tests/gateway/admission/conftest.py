"""Limits of two callers' sides: two processes that share a Redis, or one process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from gateway.admission.limits import Limits
from tests.gateway.admission.counting import (
    Serve,
    memory_counters,
    redis_counters,
    serving,
)
from tests.support.redis import RedisServer, running_redis


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture(params=["memory", "redis"])
def serve(request: pytest.FixtureRequest) -> Serve:
    if request.param == "memory":
        return _in_memory
    server: RedisServer = request.getfixturevalue("server")
    server.client.flushall()

    @asynccontextmanager
    async def in_redis(
        *, queue_s: float = 30.0, max_queue: int = 100
    ) -> AsyncIterator[tuple[Limits, Limits]]:
        counters = [redis_counters(server, "one"), redis_counters(server, "other")]
        async with serving(counters, queue_s=queue_s, max_queue=max_queue) as (one, other):
            yield one, other
            assert [each.state.outages for each in counters] == [0, 0]

    return in_redis


@asynccontextmanager
async def _in_memory(
    *, queue_s: float = 30.0, max_queue: int = 100
) -> AsyncIterator[tuple[Limits, Limits]]:
    async with serving([memory_counters()], queue_s=queue_s, max_queue=max_queue) as (limits,):
        yield limits, limits
