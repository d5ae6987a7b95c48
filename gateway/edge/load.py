"""How much one process takes on: connections by its descriptors, requests by its memory.

A process that runs out of either fails in the middle of what it does, wherever that is. One that
says 503 before goes on.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from pathlib import Path

# For the database, the journal, files and children: never for connections.
RESERVED_DESCRIPTORS = 96
LEAST_CONNECTIONS = 16
MOST_DESCRIPTORS = 1 << 20
# Of the memory there is, when no limit is set.
SHARE_OF_MEMORY = 0.85
# Requests are taken again when this much of the limit is in use.
RECOVERED = 0.95
CGROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def raise_descriptor_limit() -> int:
    """Raise the soft limit on open descriptors to the hard one; return what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return most
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def most_connections(descriptors: int) -> int:
    """Return how many callers may be connected: each may need a provider's connection as well."""
    return max((descriptors - RESERVED_DESCRIPTORS) // 2, LEAST_CONNECTIONS)


def memory_limit_bytes(set_mb: int) -> int:
    """Return how much memory the process may use before it refuses. set_mb: 0 when not set.

    Unlimited is 0: where the system does not say how much there is.
    """
    if set_mb:
        return set_mb * 1024 * 1024
    known = [_physical_bytes(), *map(_read_limit, CGROUP_LIMITS)]
    return int(min([size for size in known if size], default=0) * SHARE_OF_MEMORY)


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
    except (ValueError, OSError):
        return 0


def _read_limit(path: str) -> int:
    try:
        text = Path(path).read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


class Memory:
    """Whether the process uses more memory than it may."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self.is_short = False

    def check(self) -> bool:
        """Return whether it is short of memory now. Called twice a second."""
        if not self._limit_bytes:
            return False
        used_bytes = resident_bytes()
        was_short = self.is_short
        share = RECOVERED if was_short else 1.0
        self.is_short = used_bytes > self._limit_bytes * share
        if self.is_short and not was_short:
            give_back_memory()
        return self.is_short


def resident_bytes() -> int:
    """Return how much memory the process uses, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as numbers:
            return int(numbers.read().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def give_back_memory() -> None:
    """Return what is free inside the process to the system: else it would look used for ever."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
