"""One call between admission and its end: what the supervisor looks at, and how it is ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Protocol

from gateway.core.errors import CallerGone, GatewayError, ServerStopping
from gateway.core.grant import Grant
from gateway.streaming.meter import Meter


class SupervisedCaller(Protocol):
    """The caller's side of a call, as the supervisor needs it (gateway.caller.connection)."""

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
    is being relayed. other_outputs: the meter's when it was last looked at. caller_left: the caller
    is gone, and the usage is waited for.
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
        "other_outputs",
        "outlives_caller",
        "output_at",
        "started_at",
        "task",
        "workspace_id",
    )

    def __init__(
        self,
        caller: SupervisedCaller,
        grant: Grant,
        loop: asyncio.AbstractEventLoop,
        outlives_caller: bool,
    ) -> None:
        self.caller = caller
        self.key_id = grant.identity.key_id
        self.workspace_id = grant.identity.workspace_id
        self.is_stream = grant.identity.streamed
        self.outlives_caller = outlives_caller
        self.lease = grant.lease
        self.started_at = time.monotonic()
        self.caller_left = False
        self.meter: Meter | None = None
        self.other_outputs = 0
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
