"""A clock for how long something took, the time asleep included."""

from __future__ import annotations

import time

STEADY_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady_s() -> float:
    """Return seconds by a clock that is never set and, on Linux, runs while the machine sleeps."""
    return time.clock_gettime(STEADY_CLOCK)
