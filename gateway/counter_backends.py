"""Where limits are counted: each way is a row here, and settings.COUNTERS names the one in use.

A row makes the counters of a process (gateway.admission.counter_protocols); gateway.wiring calls it
once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from gateway.admission.counter_protocols import Counters, ReadSpent
from gateway.admission.memory_counters import MemoryCounters, MemorySpending


class Process(Protocol):
    """What a row may ask of the process it counts for (gateway.stores.process_stores)."""

    @property
    def process_id(self) -> str: ...


MakeCounters = Callable[[ReadSpent, Process], Counters]


def in_memory(read_spent: ReadSpent, process: Process) -> Counters:
    return MemoryCounters(read_spent)


def in_redis(read_spent: ReadSpent, process: Process) -> Counters:
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
        name=lambda: process.process_id,
        look=lambda: read(find_share, process.process_id),
        spending=lambda key_id: MemorySpending(key_id, read_spent),
        wait_s=settings.REDIS_WAIT_S,
    )


COUNTERS: dict[str, MakeCounters] = {
    "memory": in_memory,
    "redis": in_redis,
}


def make_counters(name: str, read_spent: ReadSpent, process: Process) -> Counters:
    """Return new counters of this name."""
    return COUNTERS[name](read_spent, process)
