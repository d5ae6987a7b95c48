"""Engines that end or hang where a text says so, and otherwise do what the real ones do.

A gateway whose PYTHONPATH has FOLDER runs them (sitecustomize.py).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.support.servers import ROOT

FOLDER = Path(__file__).parent
ENV = {"PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT)])}
KILLED, HANGING = "please be killed", "please hang"
Handle = Callable[[dict[str, object]], dict[str, object]]


def with_faults(handle: Handle) -> Handle:
    """Return an engine that is killed, or gives no answer, where its request says so."""

    def handle_or_fail(request: dict[str, object]) -> dict[str, object]:
        text = str(request)
        if KILLED in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if HANGING in text:
            signal.pause()
        return handle(request)

    return handle_or_fail
