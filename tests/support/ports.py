"""Ports for servers that a test starts a moment later: nobody else is given one meanwhile.

A port that the kernel gives to bind(0) may be the source of anybody's connection before the
server has taken it. These lie below the range of such ports (from 32768 on Linux, 49152
elsewhere), and no two processes of a test run draw from the same stretch of them.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

FIRST = 15_000
BEYOND = 32_000
STRETCH = 250


def free_port() -> int:
    """Return a port that nothing listens on, of this process's own stretch."""
    _, ports = _own_stretch()
    for port in itertools.islice(ports, STRETCH - 1):
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("0.0.0.0", port))
            return port
    raise RuntimeError(f"none of this process's {STRETCH} ports is free")


@cache
def _own_stretch() -> tuple[socket.socket, Iterator[int]]:
    """Return the next ports, and what keeps them ours: who is bound to a stretch's first has it."""
    for first in range(FIRST, BEYOND, STRETCH):
        claim = socket.socket()
        try:
            claim.bind(("0.0.0.0", first))
        except OSError:
            claim.close()
        else:
            return claim, itertools.cycle(range(first + 1, first + STRETCH))
    raise RuntimeError(f"every stretch of ports from {FIRST} to {BEYOND} is in use")
