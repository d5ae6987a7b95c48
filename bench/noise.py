"""How much of the machine others used while we measured: the report says so."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bench.programs import TICKS_PER_S

QUIET_SHARE = 0.03


def _machine_busy_s() -> float:
    """Return the processor time the whole machine has spent working, in seconds."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, soft, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + soft + steal) / TICKS_PER_S


class Crowd:
    """Compares the machine's work with that of this process and the children it has waited for."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._busy_s = _machine_busy_s()
        self._own_s = self._own()

    @staticmethod
    def _own() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    def others_share(self) -> float:
        """Return others' part of the machine's capacity, 0 to 1; ask when all children ended."""
        elapsed_s = max(0.001, time.monotonic() - self._began_s) * (os.cpu_count() or 1)
        ours_s = self._own() - self._own_s
        return max(0.0, (_machine_busy_s() - self._busy_s - ours_s) / elapsed_s)
