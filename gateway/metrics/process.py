"""Metrics of one server process, read from its parts when somebody asks."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway import __version__
from gateway.edge.connection_limits import ConnectionLimiter
from gateway.metrics.families import counter, gauge, histogram
from gateway.metrics.loop_lag import LoopLag
from gateway.metrics.readiness import find_problems

if TYPE_CHECKING:
    from gateway.wiring import Runtime


class ProcessCollector(Collector):
    def __init__(self, runtime: Runtime, limiter: ConnectionLimiter, lag: LoopLag) -> None:
        self._runtime = runtime
        self._limiter = limiter
        self._lag = lag

    def collect(self) -> Iterator[Metric]:
        yield gauge(
            "build_info",
            "Version of Tollhouse.",
            1,
            {"version": __version__, "python": platform.python_version()},
        )
        is_ready = not find_problems(self._runtime, self._limiter)
        yield gauge("ready", "1 if new calls are admitted (/readyz).", int(is_ready))
        yield from self._load()
        yield from self._limits()
        yield from self._journal()
        yield from self._purses()
        yield from self._catalogue()
        disk = os.statvfs(Path(settings.HOME))
        yield gauge(
            "disk_free_bytes", "Free on the disk of TOLLHOUSE_HOME.", disk.f_bavail * disk.f_frsize
        )

    def _load(self) -> Iterator[Metric]:
        live, streams = self._runtime.supervisor.count()
        yield gauge("live_calls", "Calls that are running.", live)
        yield gauge("live_streams", "Running calls with a streamed response.", streams)
        yield gauge(
            "queued_calls",
            "Calls that wait for a concurrent request to end.",
            self._runtime.limits.queued,
        )
        yield histogram(
            "event_loop_lag_seconds",
            "How late timers of the event loop run.",
            (),
            [((), self._lag.lag)],
        )

    def _limits(self) -> Iterator[Metric]:
        state = self._runtime.limits.server_state
        if state is not None:
            yield gauge(
                "redis_up",
                "1 if limits on requests are counted in Redis, 0 while this process enforces its"
                " share of them.",
                int(state.is_up),
            )
            yield counter(
                "redis_outages",
                "How often Redis was away since this process started.",
                (),
                {(): state.outages},
            )

    def _journal(self) -> Iterator[Metric]:
        writer = self._runtime.writer
        backlog = writer.backlog.measure()
        yield gauge(
            "journal_backlog_records", "Records that are not in the database yet.", backlog.records
        )
        yield gauge("journal_backlog_bytes", "Their size in the journal.", backlog.size_bytes)
        yield gauge(
            "journal_backlog_age_seconds", "How long the oldest of them waits.", backlog.age_s
        )
        yield gauge(
            "drain_lag_seconds",
            "How long records of the last batch waited for the database at most.",
            backlog.lag_s,
        )

    def _purses(self) -> Iterator[Metric]:
        purses = self._runtime.stores.credits.sum_purses()
        yield gauge("purses", "Workspaces whose credit this process holds.", purses.purses)
        yield gauge("purse_balance_nusd", "Credit in these purses, in nano-USD.", purses.total_nusd)
        yield gauge("purse_held_nusd", "Held for running calls, in nano-USD.", purses.held_nusd)

    def _catalogue(self) -> Iterator[Metric]:
        runtime = self._runtime
        age_s = runtime.configuration_age_s
        if age_s is not None:
            yield gauge(
                "config_age_seconds",
                "Since this process last looked for changes of keys, models and limits.",
                age_s,
            )
        yield gauge(
            "snapshot_version",
            "Newest change of configuration.",
            runtime.snapshot.current.version,
        )
