"""Hands records of calls to OpenTelemetry on their way to the journal.

The event loop appends each record to a queue. A thread makes metrics and spans of them once a
second and sends them by OTLP over HTTP. While the collector does not accept them, the newest wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Protocol

from msgspec.structs import replace

from gateway.core.switch_interval import short_switch_interval
from gateway.journal.log import Sink
from gateway.journal.record import Refused, Settled

logger = logging.getLogger(__name__)

EVERY_S = 1.0
# In each of the two queues.
MAX_WAITING = 10_000
# Calls that are sent together; fewer while it is tried whether the collector accepts anything.
BATCH = 256
PROBE = 16
STOPS_WITHIN_S = 2.0


class Export(Protocol):
    """Sends what records say (gateway.telemetry.otlp).

    What sends returns why it was not accepted, and the empty string where it was.
    """

    def count(self, record: Settled | Refused) -> None: ...

    def send_spans(self, records: Sequence[Settled | Refused]) -> str: ...

    def send_metrics(self) -> str: ...

    def close(self) -> None: ...


class CallExporter:
    """Stands before the journal (gateway.journal.log.Sink). start() before the first call, stop()
    after the last one's record.

    make_export: what records are sent with, made when it starts. metrics_every_s: how often metrics
    are sent.
    """

    def __init__(
        self, sink: Sink, make_export: Callable[[], Export], *, metrics_every_s: float
    ) -> None:
        self.admitted = sink.admitted
        self._sink = sink
        self._make_export = make_export
        self._metrics_every_s = metrics_every_s
        # Written by the event loop, and read by the thread.
        self._arrived: deque[Settled | Refused] = deque(maxlen=MAX_WAITING)
        # The thread's own: counted, and not sent yet.
        self._unsent: deque[Settled | Refused] = deque(maxlen=MAX_WAITING)
        # Calls without a trace: those that no queue had room for, those that were not accepted,
        # and those that the log has told of.
        self._pushed_out = self._lost = self._told = 0
        # Why the collector did not accept the newest of each.
        self._trouble = {"traces": "", "metrics": ""}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def settled(self, record: Settled) -> None:
        """Hand the record on, and have the call exported. Never raises."""
        self._sink.settled(record)
        if record.request_body or record.response_body or record.kept:
            # Nothing of them is exported, and they may be large.
            record = replace(record, request_body="", response_body="", kept=b"")
        self._queue(record)

    def refused(self, record: Refused) -> None:
        """Do the same for a call that was refused, where it has a row of its own."""
        self._sink.refused(record)
        if not record.counted:
            self._queue(record)

    def _queue(self, record: Settled | Refused) -> None:
        if len(self._arrived) == MAX_WAITING:
            self._pushed_out += 1
        self._arrived.append(record)

    def start(self) -> None:
        """Import and set up what it takes, and start the thread. Blocking."""
        export = self._make_export()
        self._thread = threading.Thread(
            target=self._run, args=(export,), name="telemetry", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Send what is left, for a moment at most. Blocking."""
        self._stopping.set()
        if self._thread is not None and not any(self._trouble.values()):
            self._thread.join(STOPS_WITHIN_S)

    def _run(self, export: Export) -> None:
        metrics_at = time.monotonic() + self._metrics_every_s
        while not self._stopping.wait(EVERY_S):
            is_due = time.monotonic() >= metrics_at
            if is_due:
                metrics_at = time.monotonic() + self._metrics_every_s
            self._send(export, with_metrics=is_due)
        self._send(export, with_metrics=True)
        export.close()

    def _send(self, export: Export, *, with_metrics: bool) -> None:
        try:
            with short_switch_interval():
                self._count(export)
            self._send_spans(export)
            if with_metrics:
                self._note("metrics", export.send_metrics())
        except Exception:
            logger.exception("Traces and metrics of some calls could not be made.")

    def _count(self, export: Export) -> None:
        """Add what has arrived to the metrics, whether or not traces can be sent now."""
        for _ in range(len(self._arrived)):
            record = self._arrived.popleft()
            if len(self._unsent) == MAX_WAITING:
                self._lost += 1
            self._unsent.append(record)
            export.count(record)

    def _send_spans(self, export: Export) -> None:
        """Send what waits. While that is not accepted, try with a few calls."""
        while self._unsent:
            is_accepted = not self._trouble["traces"]
            size = min(len(self._unsent), BATCH if is_accepted else PROBE)
            batch = [self._unsent.popleft() for _ in range(size)]
            # Making spans of a whole batch takes long; a collector that is away, longer still.
            with short_switch_interval() if is_accepted else nullcontext():
                trouble = export.send_spans(batch)
            if trouble:
                self._lost += size
            self._note("traces", trouble)
            if trouble:
                break

    def _note(self, what: str, trouble: str) -> None:
        """Log when the collector begins and ends to accept something."""
        before, self._trouble[what] = self._trouble[what], trouble
        if trouble and not before:
            logger.warning(
                "The collector at OTEL_EXPORTER_OTLP_ENDPOINT does not accept %s: %s. Calls are "
                "still served.",
                what,
                trouble.rstrip("."),
            )
        if before and not trouble:
            lost = self._pushed_out + self._lost
            missing, self._told = lost - self._told, lost
            logger.warning(
                "The collector accepts %s again. %d further calls have no trace.", what, missing
            )
