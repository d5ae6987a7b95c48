"""Notice when this process was stopped so long that another may have declared it dead.

A SIGSTOP, or a machine put to sleep: until the lease was renewed, no call may begin.
"""

from __future__ import annotations

import math
import time

from gateway.stores.clock import steady_s

# Well below what a reaper waits for: the rest of a lease, and a while.
MAX_STALL_S = 15.0


class StallMonitor:
    """Counts stalls as one thread notices them, and which of them the lease has outlived."""

    def __init__(self) -> None:
        self._awake_at = self._awake_s = math.inf  # the last look, by either clock
        self._outlived = 0
        self.stalls = 0

    def is_in_doubt(self, at: float) -> bool:
        """True after a stall, until it is known that nobody ended this process meanwhile.

        at: now, in seconds since the epoch. A clock that was set raises no doubt.
        """
        if at - self._awake_at > MAX_STALL_S and steady_s() - self._awake_s > MAX_STALL_S:
            return True
        return self.stalls != self._outlived

    @property
    def needs_renewal(self) -> bool:
        """True when the lease has to be renewed before calls may begin again."""
        return self.stalls != self._outlived

    def begin(self) -> None:
        """Begin to look. From the thread that will look."""
        self._awake_at, self._awake_s = time.time(), steady_s()

    def look(self) -> None:
        """Count a stall if the last look was long ago."""
        now_s = steady_s()
        if now_s - self._awake_s > MAX_STALL_S:
            self.stalls += 1  # before the trace of it is gone
        self._awake_at, self._awake_s = time.time(), now_s

    def add_doubt(self) -> None:
        """Have the lease renewed before calls may begin."""
        self.stalls += 1

    def outlive(self, stalls: int) -> None:
        """The lease was renewed after so many stalls."""
        self._outlived = stalls
