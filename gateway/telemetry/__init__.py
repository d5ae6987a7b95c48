"""Traces and metrics of calls for OpenTelemetry, made of their records: the extra [otel]."""
