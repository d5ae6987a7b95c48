"""Keeps the children running until somebody asks to stop, then stops them in order. Asked to, it
replaces the server processes one after another, without a request being refused."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

from gateway.launch.child import Child
from gateway.launch.failure import CannotStart
from gateway.launch.programs import KILL_AFTER_S
from gateway.launch.server_child import ServerChild

POLL_S = 0.1
FIRST_BACK_OFF_S = 1.0
LONGEST_BACK_OFF_S = 30.0
STEADY_S = 60.0  # a child that ran this long has proved itself: its back-off starts anew
READY_S = 60.0
# Asks `up` to replace its server processes.
REPLACE = signal.SIGUSR1


class Supervisor:
    """Children in the order of their start; the first is stopped first.

    say: takes a line for the person at the terminal. drain_s: how long calls may take to end.
    """

    def __init__(
        self, children: Sequence[Child], *, say: Callable[[str], object], drain_s: float
    ) -> None:
        self._children = list(children)
        self._retiring: list[tuple[Child, float]] = []  # each with the time to end it
        self._replaces = False
        self._kill_after_s = drain_s + KILL_AFTER_S
        self._say = say
        self._stops = 0  # how often we were asked
        self._restart_at: dict[str, float] = {}
        self._back_off_s: dict[str, float] = {}

    def listen_for_signals(self, *, can_replace: bool = False) -> None:
        """From now on Ctrl-C, SIGTERM and a closed terminal mean: stop. With can_replace, REPLACE
        and, where there is no terminal, SIGHUP mean: replace the server processes."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        if can_replace:
            signal.signal(REPLACE, self._on_replace)
            if not sys.stdout.isatty():
                signal.signal(signal.SIGHUP, self._on_replace)

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    def exit_codes(self) -> set[int | None]:
        """Return how the children have ended; None where they run."""
        return {child.ended() for child in self._children}

    def start(self) -> None:
        for child in self._children:
            child.start()

    def wait_until(self, is_ready: Callable[[], bool], *, within_s: float) -> None:
        """Return when everything is ready, or a stop was asked for. Raises CannotStart."""
        deadline = time.monotonic() + within_s
        while not self.is_stopping and not is_ready():
            for child in self._children:
                code = child.ended()
                if code is not None:
                    raise CannotStart(
                        f"The {child.name} ended while starting ({_describe(code)}). "
                        "Its output is above."
                    )
            if time.monotonic() > deadline:
                raise CannotStart(f"The server did not respond within {within_s:.0f} s.")
            time.sleep(POLL_S)

    def watch(self) -> None:
        """Start again what ends by itself, until a stop is asked for."""
        while not self.is_stopping:
            if self._replaces:
                self._replaces = False
                self._replace_servers()
            self._look_after_all()
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Let live calls end, then end everything. A second request does not wait."""
        everyone = [*self._children, *(child for child, _ in self._retiring)]
        for child in everyone:
            child.ask_to_stop()
        asked, patience = time.monotonic(), self._stops
        while any(child.is_running() for child in everyone):
            if self._stops > max(patience, 1):
                break
            if time.monotonic() - asked > self._kill_after_s:
                self._say("Stopping takes too long. Ending all processes.")
                break
            time.sleep(POLL_S)
        for child in everyone:
            child.kill()

    def _replace_servers(self) -> None:
        """Start another process in the place of each server process, one after another; each of the
        old ones ends when it has served its connections. The worker is started again."""
        self._say("Replacing the server processes.")
        for old in [child for child in self._children if isinstance(child, ServerChild)]:
            new = old.successor()
            new.start()
            if not self._comes_up(new):
                new.kill()
                if not self.is_stopping:
                    self._say(f"The new {new.name} did not start. The old one stays.")
                return
            self._children[self._children.index(old)] = new
            old.retire()
            self._retiring.append((old, time.monotonic() + self._kill_after_s))
        for child in self._children:
            if not isinstance(child, ServerChild):
                child.ask_to_stop()
                self._restart_at[child.name] = 0.0
        self._say("All server processes have been replaced.")

    def _comes_up(self, child: ServerChild) -> bool:
        """Wait for a server process, and return whether it serves."""
        deadline = time.monotonic() + READY_S
        while not child.is_ready():
            if self.is_stopping or not child.is_running() or time.monotonic() > deadline:
                return False
            self._look_after_all()
            time.sleep(POLL_S)
        return True

    def _look_after_all(self) -> None:
        for child in self._children:
            self._look_after(child)
        now = time.monotonic()
        for child, until in list(self._retiring):
            if not child.is_running() or now > until:
                child.kill()
                self._retiring.remove((child, until))

    def _look_after(self, child: Child) -> None:
        code = child.ended()
        if code is None:
            return
        now = time.monotonic()
        due = self._restart_at.get(child.name)
        if due is None:
            if now - child.started_at > STEADY_S:
                self._back_off_s.pop(child.name, None)
            wait_s = self._back_off_s.get(child.name, FIRST_BACK_OFF_S)
            self._back_off_s[child.name] = min(wait_s * 2, LONGEST_BACK_OFF_S)
            self._restart_at[child.name] = now + wait_s
            self._say(
                f"The {child.name} ended ({_describe(code)}). Restarting it in {wait_s:.0f} s."
            )
        elif now >= due:
            del self._restart_at[child.name]
            child.start()

    def _on_replace(self, number: int, frame: FrameType | None) -> None:
        self._replaces = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1


def _describe(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
