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
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Protocol

from gateway.core.errors import (
    CallerGone,
    CallerLeft,
    CallerStalled,
    CallTimeout,
    GatewayError,
    ProviderTimeout,
    ServerStopping,
)
from gateway.core.grant import Grant
from gateway.streaming.meter import Meter

TICK_S = 0.1
TICKS_PER_LOOK = 5
END_S = 5.0
# A provider counts the tokens of a stream behind its last word: so long that is waited for, though
# the caller has gone.
USAGE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTimeouts:
    """How long each step of a call may take, in seconds (gateway contract, section 8.1)."""

    # Connecting to a provider.
    connect_s: float = 10
    # Until the first event of a stream, and between two events of it.
    first_byte_s: float = 300
    idle_s: float = 120
    # Between two pieces of output, whatever else the provider sends.
    output_s: float = 300
    # The whole of a buffered call, and of a streamed one.
    total_s: float = 600
    total_stream_s: float = 3600
    # How long a caller may leave unread what is written to it.
    stall_s: float = 30
    # How long nothing is written to a streaming caller before a keep-alive is.
    keep_alive_s: float = 15


class CallerConnection(Protocol):
    """The caller's side of a call, as the supervisor needs it."""

    writing_since: float
    last_write: float

    async def wait_for_hang_up(self) -> None:
        """Return when the caller has closed the connection."""

    async def keep_alive(self) -> None:
        """Write a comment, with the head before it if that has not gone out."""

    async def cut(self) -> None:
        """Break the connection; what is written from then on goes nowhere."""


class LiveCall:
    """A call between admission and its end. Moments are time.monotonic; 0 means not yet.

    lease: what it has taken of limits, given back when it is over. meter, choices: of a stream that
    is being relayed. caller_left: the caller is gone, and the usage is waited for.
    """

    __slots__ = (
        "_has_ended",
        "_helpers",
        "_reason",
        "asked_at",
        "caller",
        "caller_left",
        "choices",
        "heard_at",
        "is_stream",
        "key_id",
        "lease",
        "meter",
        "outlives_caller",
        "output_at",
        "started_at",
        "task",
        "workspace_id",
    )

    def __init__(
        self,
        caller: CallerConnection,
        grant: Grant,
        loop: asyncio.AbstractEventLoop,
        outlives_caller: bool,
    ) -> None:
        self.caller = caller
        self.key_id = grant.key_id
        self.workspace_id = grant.workspace_id
        self.is_stream = grant.identity.streamed
        self.outlives_caller = outlives_caller
        self.lease = grant.lease
        self.started_at = time.monotonic()
        self.caller_left = False
        self.meter: Meter | None = None
        self.choices = 0
        self.asked_at = 0.0
        self.heard_at = 0.0
        self.output_at = 0.0
        # Told the loop, it need not ask which one runs: a system call (CPython 3.11).
        self.task = asyncio.current_task(loop)
        self._reason: GatewayError | None = None
        self._has_ended = False
        self._helpers: list[asyncio.Task[None]] = []

    @property
    def awaits_usage(self) -> bool:
        """True when all has been said of a stream but what it was in tokens."""
        meter = self.meter
        return meter is not None and meter.usage is None and len(meter.finished) >= self.choices

    @property
    def is_interrupted(self) -> bool:
        """True when an interruption was made that nobody has explained."""
        return self._reason is not None

    def close(self) -> None:
        """Take no more interruptions, and stop the helpers."""
        self._has_ended = True
        for helper in self._helpers:
            helper.cancel()
        self._helpers.clear()

    def help(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Run something beside the call; it ends with the call at the latest."""
        helper = asyncio.ensure_future(work)
        self._helpers.append(helper)
        return helper

    def interrupt(self, reason: GatewayError) -> None:
        """End the call for this reason, unless it is being ended already.

        A caller that left is reported once: that reason takes the place of any other, or the
        next target would work for nobody.
        """
        if self._has_ended or self.task is None:
            return
        if self._reason is None:
            self._reason = reason
            self.task.cancel()
        elif isinstance(reason, CallerGone):
            self._reason = reason

    def explain(self) -> GatewayError:
        """Return the error that an interruption was made for.

        One that nobody here asked for is the server's: it stops, and its time to stop is up.
        """
        reason, self._reason = self._reason, None
        if self.task is not None:
            self.task.uncancel()
        return reason or ServerStopping()

    async def end(self) -> None:
        """Take no more interruptions, stop the helpers, and swallow an interruption that came
        too late to be seen. Settling goes undisturbed after this."""
        self.close()
        if self._reason is None:
            return
        self._reason = None
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self.task is not None:
                self.task.uncancel()


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

    def enter(
        self, caller: CallerConnection, grant: Grant, *, outlives_caller: bool = False
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
                live.help(self._watch_disconnect(live))
        self._unwatched.clear()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_S, self._tick) if self._live else None
        self._ticks += 1
        if self._ticks % TICKS_PER_LOOK:
            return
        for live in list(self._live):
            if error := self._overdue(live, now):
                live.interrupt(error)
            elif (
                live.is_stream
                and not live.caller.writing_since
                and now - (live.caller.last_write or live.started_at) >= self.timeouts.keep_alive_s
            ):
                live.help(live.caller.keep_alive())

    async def _watch_disconnect(self, live: LiveCall) -> None:
        await live.caller.wait_for_hang_up()
        if live.awaits_usage:
            live.caller_left = True
            await asyncio.sleep(USAGE_S)
        live.interrupt(CallerLeft())

    def _overdue(self, live: LiveCall, now: float) -> GatewayError | None:
        """Return why the call must not wait any longer, or None."""
        timeouts = self.timeouts
        if live.caller.writing_since:
            if now - live.caller.writing_since > timeouts.stall_s:
                if not live.outlives_caller:
                    return CallerStalled()
                live.help(live.caller.cut())
            return None
        total_s = timeouts.total_stream_s if live.is_stream else timeouts.total_s
        if now - live.started_at > total_s:
            return CallTimeout(f"The call took longer than {total_s:g} s.")
        return self._silent(live, now) if live.is_stream and live.asked_at else None

    def _silent(self, live: LiveCall, now: float) -> GatewayError | None:
        """Return why a stream's provider must not be waited for any longer, or None."""
        timeouts = self.timeouts
        if not live.heard_at:
            if now - live.asked_at > timeouts.first_byte_s:
                return ProviderTimeout(
                    f"The provider sent nothing for {timeouts.first_byte_s:g} s."
                )
        elif now - live.heard_at > timeouts.idle_s:
            return ProviderTimeout(f"The provider stopped sending for {timeouts.idle_s:g} s.")
        elif now - max(live.output_at, live.asked_at) > timeouts.output_s:
            return ProviderTimeout(f"The provider sent no output for {timeouts.output_s:g} s.")
        return None
