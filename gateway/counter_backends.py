"""Where limits are counted: each way is a row here, and settings.COUNTERS names the one in use.

A row makes the counters of a process (gateway.admission.counter_protocols); gateway.wiring calls it
once.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.admission.counter_protocols import Counters, ReadSpent
from gateway.admission.memory_counters import MemoryCounters

COUNTERS: dict[str, Callable[[ReadSpent], Counters]] = {
    "memory": MemoryCounters,
}


def make_counters(name: str, read_spent: ReadSpent) -> Counters:
    """Return new counters of this name."""
    return COUNTERS[name](read_spent)
