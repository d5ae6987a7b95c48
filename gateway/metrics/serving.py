"""The metrics of one server process, put together as the settings ask for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from django.conf import settings
from prometheus_client import CollectorRegistry

from gateway.core.asgi import Application
from gateway.edge.connection_limits import ConnectionLimiter
from gateway.metrics.call_totals import CallTotals
from gateway.metrics.calls import CallCollector
from gateway.metrics.exposition import MetricsEndpoint, MetricsListener, Token, make_render
from gateway.metrics.ledger import LedgerCollector
from gateway.metrics.loop_lag import LoopLag
from gateway.metrics.process import ProcessCollector
from gateway.metrics.readiness import LATE_S

if TYPE_CHECKING:
    from gateway.wiring import Runtime


class Metrics:
    """start() after the runtime, stop() after it. endpoints: for /metrics of the server's port."""

    def __init__(
        self,
        lag: LoopLag | None = None,
        listener: MetricsListener | None = None,
        endpoints: tuple[Application, ...] = (),
    ) -> None:
        self._lag = lag
        self._listener = listener
        self.endpoints = endpoints

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._lag is not None:
            self._lag.start(loop)
        if self._listener is not None:
            self._listener.start()

    async def stop(self) -> None:
        if self._lag is not None:
            self._lag.stop()
        if self._listener is not None:
            await asyncio.to_thread(self._listener.stop)


def make_metrics(runtime: Runtime, limiter: ConnectionLimiter, *, patience_s: float = 0) -> Metrics:
    """Return what the settings ask for: nothing, a port, an endpoint, or both.

    patience_s: how long the port may be in use by the process that this one replaces.
    """
    if runtime.totals is None:
        return Metrics()
    lag = LoopLag()
    render = make_render(_make_registry(runtime, runtime.totals, limiter, lag))
    token = Token(settings.METRICS_TOKEN)
    listener = None
    if settings.METRICS_PORT:
        listener = MetricsListener(
            *(settings.METRICS_HOST, settings.METRICS_PORT, render, token),
            patience_s=patience_s,
        )
    endpoints: tuple[Application, ...] = ()
    if settings.METRICS_TOKEN:
        endpoints = (MetricsEndpoint(render, token),)
    return Metrics(lag, listener, endpoints)


def _make_registry(
    runtime: Runtime, totals: CallTotals, limiter: ConnectionLimiter, lag: LoopLag
) -> CollectorRegistry:
    def database_answers() -> bool:
        age_s = runtime.configuration_age_s
        return age_s is not None and age_s < LATE_S

    registry = CollectorRegistry(auto_describe=False)
    refusals = {
        "edge": lambda: list(limiter.refused.items()),
        "call": lambda: list(runtime.refused.items()),
    }
    registry.register(CallCollector(totals, refusals))
    registry.register(ProcessCollector(runtime, limiter, lag))
    registry.register(LedgerCollector(database_answers))
    return registry
