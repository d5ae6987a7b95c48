"""What a serving process makes sure of before it takes the first call, however it was started."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.db import connections

from gateway.checks import log_warnings
from gateway.launch.exclusive import SERVER, only_one
from gateway.launch.preflight import check_database_is_current, check_home


def enter(stack: ExitStack) -> None:
    """Hold the home for as long as the stack is open. Blocking.

    Raises CannotStart when another process serves it, or its database is not what it has to be.
    """
    log_warnings()
    home = Path(settings.HOME)
    check_home(home)
    stack.enter_context(only_one(home, SERVER))
    try:
        check_database_is_current()
    finally:
        connections.close_all()


def stop_starting_again() -> None:
    """End the program that would start this process again and again (uvicorn --workers)."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getppid(), signal.SIGTERM)
