"""Supervises every live call with one clock: timeouts, keep-alives, disconnects, interruptions.

A timer per call, or worse per piece, would cost more than the pieces. Instead one tick looks
at all live calls ten times a second. It starts to listen for the caller's hang-up (calls that
are over within a tick need no listener), ends attempts that wait too long, disconnects callers that
stopped reading, writes keep-alives, and interrupts calls: for a revoked key, a locked workspace,
a shutdown.
"""

from __future__ import annotations

import asyncio
import time

from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.streaming.hang_up import watch_disconnect
from gateway.streaming.live_call import LiveCall, SupervisedCaller
from gateway.streaming.timeouts import StreamTimeouts, find_overdue

TICK_S = 0.1
TICKS_PER_LOOK = 5
END_S = 5.0


class CallSupervisor:
    """Every live call of the process."""

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self.timeouts = timeouts
        self._live: set[LiveCall] = set()
        self._unwatched: set[LiveCall] = set()
        self._ticks = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._live)

    def count(self) -> tuple[int, int]:
        """Return how many calls live, and how many of them are streams. For any thread."""
        live = list(self._live)
        return len(live), sum(call.is_stream for call in live)

    def enter(
        self, caller: SupervisedCaller, grant: Grant, *, outlives_caller: bool = False
    ) -> LiveCall:
        """Begin to supervise a call."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = self._loop.call_later(TICK_S, self._tick)
        live = LiveCall(caller, grant, self._loop, outlives_caller)
        self._live.add(live)
        self._unwatched.add(live)
        return live

    def leave(self, live: LiveCall) -> None:
        """The call is over. An interruption not explained yet is still to be ended."""
        self._live.discard(live)
        self._unwatched.discard(live)
        live.close()
        if live.lease is not None:
            live.lease.end()

    def interrupt_key(self, key_id: str, reason: GatewayError) -> None:
        """End every live call of a key."""
        for live in list(self._live):
            if live.key_id == key_id:
                live.interrupt(reason)

    def has_calls_of(self, workspace_id: str) -> bool:
        """True while a call of the workspace lives."""
        return any(live.workspace_id == workspace_id for live in self._live)

    def interrupt_workspace(self, workspace_id: str, reason: GatewayError) -> None:
        """End every live call of a workspace."""
        for live in list(self._live):
            if live.workspace_id == workspace_id:
                live.interrupt(reason)

    async def empty(self, reason: GatewayError) -> None:
        """End every live call and return when the last one is over."""
        tasks = [live.task for live in self._live if live.task is not None]
        for live in list(self._live):
            live.interrupt(reason)
        if tasks:
            await asyncio.wait(tasks, timeout=END_S)

    def _tick(self) -> None:
        now = time.monotonic()
        for live in self._unwatched:
            if not live.outlives_caller:
                live.help(watch_disconnect(live))
        self._unwatched.clear()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_S, self._tick) if self._live else None
        self._ticks += 1
        if self._ticks % TICKS_PER_LOOK:
            return
        for live in list(self._live):
            if error := find_overdue(live, self.timeouts, now):
                live.interrupt(error)
            elif (
                live.is_stream
                and not live.caller.writing_since
                and now - (live.caller.last_write or live.started_at) >= self.timeouts.keep_alive_s
            ):
                live.help(live.caller.keep_alive())
