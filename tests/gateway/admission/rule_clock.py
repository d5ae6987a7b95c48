"""A clock that tests set, for counters in memory and in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from hashlib import sha1

from gateway.admission.counter_protocols import Counters
from gateway.admission.memory_counters import MemoryCounters
from gateway.stores.redis_counters import RedisCounters
from gateway.stores.redis_link import Answered
from gateway.stores.redis_scripts import SCRIPTS
from tests.gateway.admission.counting import nothing_spent, redis_counters
from tests.support.redis import RedisServer

NOON_US = int(datetime(2026, 3, 4, 12, 0, 13, tzinfo=UTC).timestamp()) * 10**6
READ_TIME = "redis.call('TIME')"
READ_CLOCK = "{0, tonumber(redis.call('GET', 'clock'))}"


class Clock:
    """servers: have the same time."""

    def __init__(self, servers: Sequence[RedisServer] = ()) -> None:
        self._servers = servers
        self.us = NOON_US
        self.set(NOON_US)

    def set(self, us: int) -> None:
        self.us = us
        for server in self._servers:
            server.client.set("clock", us)

    def advance(self, us: int) -> None:
        self.set(self.us + us)


class TimedMemory(MemoryCounters):
    def __init__(self, clock: Clock) -> None:
        super().__init__(nothing_spent)
        self._clock = clock

    def now_us(self) -> int:
        return self._clock.us


@contextmanager
def scripts_by_clock() -> Iterator[None]:
    """Have the scripts ask the clock instead of the server."""
    real = [(script, script.text, script.sha) for script in SCRIPTS]
    for script, text, _ in real:
        script.text = text.replace(READ_TIME, READ_CLOCK)
        script.sha = sha1(script.text.encode(), usedforsecurity=False).hexdigest()
    try:
        yield
    finally:
        for script, text, sha in real:
            script.text, script.sha = text, sha


@asynccontextmanager
async def timed_redis(server: RedisServer, clock: Clock) -> AsyncIterator[RedisCounters]:
    """Yield started counters that go by the clock."""
    with scripts_by_clock():
        counters = redis_counters(server, "one")
        counters.now_us = lambda: clock.us
        counters.rules.now_us = counters.now_us  # type: ignore[method-assign]
        await counters.start()
        try:
            yield counters
        finally:
            await counters.aclose()


async def told(counters: Counters) -> None:
    """Return when Redis has done all that it was told."""
    if isinstance(counters, RedisCounters):
        answered = Answered(counters.link._loop)
        connection = counters.link._connection
        assert connection is not None
        connection.send(answered, "PING")
        await answered.future
