"""Telemetry as the settings ask for it."""

from __future__ import annotations

from django.conf import settings

from gateway.journal.log import Sink
from gateway.telemetry.call_exporter import CallExporter, Export


def make_exporter(sink: Sink) -> CallExporter | None:
    """Return what stands before the sink; None without OTEL_EXPORTER_OTLP_ENDPOINT."""
    if not settings.OTLP_ENDPOINT:
        return None
    return CallExporter(sink, make_export, metrics_every_s=settings.OTLP_METRICS_EVERY_S)


def make_export() -> Export:
    # Imported where it is used: it is an extra, and takes time and memory.
    from gateway.telemetry.otlp import OtlpExport

    return OtlpExport()
