"""OpenTelemetry's exporters. Address, headers, timeouts and certificates are set by its own
variables (OTEL_EXPORTER_OTLP_ENDPOINT and the like)."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

import gateway
from gateway.journal.record import Refused, Settled
from gateway.telemetry.metrics import CallMetrics
from gateway.telemetry.spans import SpanMaker

# The exporters log through loggers below it.
EXPORTERS = "opentelemetry.exporter"


class OtlpExport:
    """For one thread of one process (gateway.telemetry.call_exporter.Export)."""

    def __init__(self) -> None:
        resource = describe_process()
        # Only for its sampler, which OTEL_TRACES_SAMPLER chooses.
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans = SpanMaker(resource, tracers.sampler)
        self._exporter: SpanExporter = OTLPSpanExporter()
        # Has no thread of its own: metrics are sent when they are asked for.
        self._reader = PeriodicExportingMetricReader(
            OTLPMetricExporter(), export_interval_millis=math.inf
        )
        self._meters = MeterProvider(
            [self._reader],
            resource,
            shutdown_on_exit=False,
            exemplar_filter=AlwaysOffExemplarFilter(),
        )
        self._metrics = CallMetrics(self._meters)
        self._complaints = Complaints()
        logger = logging.getLogger(EXPORTERS)
        logger.addHandler(self._complaints)
        logger.propagate = False

    def count(self, record: Settled | Refused) -> None:
        if isinstance(record, Settled):
            self._metrics.count(record)

    def send_spans(self, records: Sequence[Settled | Refused]) -> str:
        spans = [span for record in records for span in self._spans.spans_of(record)]
        if spans:
            self._exporter.export(spans)
        return self._complaints.take()

    def send_metrics(self) -> str:
        self._reader.collect()
        return self._complaints.take()

    def close(self) -> None:
        self._meters.shutdown()
        self._exporter.shutdown()


class Complaints(logging.Handler):
    """Takes what the exporters log, which is a line for each attempt, and keeps the first."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self._first = self._first or record.getMessage()

    def take(self) -> str:
        first, self._first = self._first, ""
        return first


def describe_process() -> Resource:
    """Return what tells this process from others. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
    go before our own words."""
    ours = Resource(
        {
            SERVICE_NAME: "tollhouse",
            SERVICE_VERSION: gateway.__version__,
            SERVICE_INSTANCE_ID: str(uuid.uuid4()),
        }
    )
    library = {
        name: value
        for name, value in Resource.create().attributes.items()
        if name.startswith("telemetry.")
    }
    return Resource(library).merge(ours).merge(OTELResourceDetector().detect())
