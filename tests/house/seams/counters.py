"""Counters that let two requests of a key with a limit pass, whatever the limit is."""

from __future__ import annotations

import time

from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.request_rate import TokenBucket


class StrictBucket(TokenBucket):
    """Two requests at once, one more a minute."""

    def change(self, per_minute: int, burst: int, now_ns: int) -> None:
        """It knows better than the key."""


class StrictCounters(MemoryCounters):
    """Counters (gateway.admission.counter_protocols)."""

    def rate(self, owner: str, per_minute: int, burst: int, *, workspace_id: str) -> TokenBucket:
        return StrictBucket(1, 2, time.monotonic_ns())
