"""What a server process makes sure of before it takes the first call, however it was started."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections

from gateway.checks import log_warnings
from gateway.launch.exclusive import SERVER, only_one
from gateway.launch.preflight import (
    check_database_is_current,
    check_home,
    check_keys,
    check_telemetry,
)
from gateway.services.files.homes import warn_of_homes_elsewhere, write_marker

log = logging.getLogger(__name__)

M_MMAP_THRESHOLD = -3  # malloc.h
LARGE_BLOCK_BYTES = 1024 * 1024


def enter(stack: ExitStack) -> None:
    """Hold the home for as long as the stack is open. Blocking.

    Raises CannotStart when another process serves it, or its database is not what it has to be.
    """
    log_warnings()
    give_large_blocks_back()
    home = Path(settings.HOME)
    check_home(home)
    check_telemetry()
    stack.enter_context(only_one(home, SERVER, is_shared=has_shared_counters()))
    try:
        check_database_is_current()
        check_keys()
        write_marker()
    finally:
        connections.close_all()


def warn_of_separate_folders() -> None:
    """Warn of hosts that do not share what all have to share. Blocking; once we serve."""
    try:
        warn_of_homes_elsewhere()
    except DatabaseError as error:
        log.warning("Whether all hosts share their stored files is not known: %s", error)
    finally:
        connections.close_all()


def has_shared_counters() -> bool:
    """True when processes count limits together, so that several can serve one database."""
    return settings.COUNTERS != "memory"


def leave() -> None:
    """Close the connections that requests have shared."""
    for connection in connections.all():
        connection.close()
        close_pool = getattr(connection, "close_pool", None)
        if close_pool is not None:
            close_pool()


def give_large_blocks_back() -> None:
    """Have the C library return large blocks to the system when they are freed.

    By itself glibc keeps blocks of up to 32 MB for later once one of that size was freed, so a few
    long bodies would leave a process twice as large as it needs to be.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other systems have none
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def stop_starting_again() -> None:
    """End the program that would start this process again and again (uvicorn --workers)."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getppid(), signal.SIGTERM)
