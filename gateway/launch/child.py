"""A child process: it ends with its parent, and is not confused with other processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Child:
    """One program of the installation: started, asked to stop, made to stop.

    Each child leads a process group of its own, so that Ctrl-C reaches the parent alone, which
    then stops the children in order. On Linux the kernel asks a child to end when its parent
    has died.
    """

    def __init__(self, name: str, command: Sequence[str], *, environ: Mapping[str, str]) -> None:
        self.name = name
        self._command = list(command)
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0  # time.monotonic()

    def start(self) -> None:
        self._spawn({}, ())

    def _spawn(self, more_environ: Mapping[str, str], descriptors: Sequence[int]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own command lines
            self._command,
            env=self._environ | dict(more_environ),
            stdin=subprocess.DEVNULL,
            process_group=0,
            pass_fds=descriptors,
            preexec_fn=_die_with(os.getpid()) if _LIBC else None,
        )
        self.started_at = time.monotonic()

    def ended(self) -> int | None:
        """Return the exit code (negative: the signal), or None while it runs."""
        return self._process.poll() if self._process else None

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask_to_stop(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running():
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it and everything it started, now. What it left behind when it ended goes too."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _die_with(parent_pid: int) -> Callable[[], None]:
    """Return what a new process runs before its program: a wish to end with its parent."""

    def arrange() -> None:
        assert _LIBC is not None
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent_pid:  # it died in between
            os._exit(1)

    return arrange
