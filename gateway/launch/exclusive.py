"""One `up` per home; one process that serves it, or as many as `up` was asked for."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.launch.failure import CannotStart

UP = "up.lock"
SERVER = "server.lock"


def holder(home: Path, name: str = UP) -> int | None:
    """Return the process that holds the home, or None."""
    try:
        with only_one(home, name):
            return None
    except CannotStart:
        text = (home / name).read_text()
        return int(text) if text.isdecimal() else None


@contextmanager
def only_one(home: Path, name: str = UP, *, is_shared: bool = False) -> Iterator[None]:
    """Hold the home for the length of the block. Raises CannotStart when another does.

    is_shared: others that hold it in the same way are let in, too. The lock is the kernel's and
    ends with the process that holds it, however that ends.
    """
    descriptor = os.open(home / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError:
            pid = os.read(descriptor, 20).decode() or "unknown"
            raise CannotStart(
                f"This installation is already running (process {pid}, {home}). Only one process "
                "can serve it. Stop it first, start no further workers, or set another folder with "
                "TOLLHOUSE_HOME."
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
