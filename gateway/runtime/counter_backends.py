"""Where limits are counted: each way is a row here, and settings.COUNTERS names the one in use.

A row makes the counters of a process (gateway.admission.counter_protocols); gateway.wiring calls it
once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from gateway.admission.counter_protocols import Counters, ReadSpent, SpendingCounter
from gateway.admission.memory_counters import MemoryCounters
from gateway.stores.count_file import CountFile


class CounterParts(NamedTuple):
    """What a row may use. process_id: of the running process, as UUID text."""

    read_spent: ReadSpent
    budgets: SpendingCounter
    process_id: Callable[[], str]


MakeCounters = Callable[[CounterParts], Counters]


def in_memory(parts: CounterParts) -> Counters:
    return MemoryCounters(parts.read_spent, CountFile(settings.HOME))


def in_redis(parts: CounterParts) -> Counters:
    # Imported where it is used: an installation without Redis needs neither its client nor memory
    # for it.
    from gateway.stores.alive_processes import find_share
    from gateway.stores.queries import QueryThreads
    from gateway.stores.redis_counters import RedisCounters

    address = settings.REDIS
    if address is None:
        raise ImproperlyConfigured("Limits cannot be counted in Redis without REDIS_URL.")
    read = QueryThreads("shares", 1).run
    return RedisCounters(
        address,
        name=parts.process_id,
        look=lambda: read(find_share, parts.process_id()),
        spending=parts.budgets,
        wait_s=settings.REDIS_WAIT_S,
    )


COUNTERS: dict[str, MakeCounters] = {
    "memory": in_memory,
    "redis": in_redis,
}


def make_counters(name: str, parts: CounterParts) -> Counters:
    """Return new counters of this name."""
    return COUNTERS[name](parts)
