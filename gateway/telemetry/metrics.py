"""The metrics of calls that OpenTelemetry's conventions for generative AI name."""

from __future__ import annotations

from opentelemetry.metrics import Histogram
from opentelemetry.sdk.metrics import MeterProvider

import gateway
from gateway.journal.record import Settled
from gateway.metrics.call_totals import FIRST_TOKEN_BOUNDS_US, TOTAL_BOUNDS_US
from gateway.telemetry import names

US_PER_S = 1_000_000
# The bounds that the conventions recommend.
TOKEN_BOUNDS = [float(4**power) for power in range(14)]
DURATION_BOUNDS_S = [bound / US_PER_S for bound in TOTAL_BOUNDS_US]
CHUNK_BOUNDS_S = [bound / US_PER_S for bound in FIRST_TOKEN_BOUNDS_US]


class CallMetrics:
    """Labels are names of the catalogue and codes, nothing that a caller chose."""

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("tollhouse", gateway.__version__)

        def histogram(name: str, unit: str, bounds: list[float]) -> Histogram:
            made: Histogram = meter.create_histogram(
                name, unit, explicit_bucket_boundaries_advisory=bounds
            )
            return made

        self._tokens = histogram(names.TOKEN_USAGE, "{token}", TOKEN_BOUNDS)
        self._duration = histogram(names.DURATION, "s", DURATION_BOUNDS_S)
        self._first = histogram(names.FIRST_CHUNK, "s", CHUNK_BOUNDS_S)
        self._each = histogram(names.OUTPUT_CHUNK, "s", CHUNK_BOUNDS_S)

    def count(self, record: Settled) -> None:
        identity, receipt, served = record.identity, record.receipt, record.served
        labels = {
            names.OPERATION: names.operation_of(identity.endpoint),
            names.PROVIDER: served.provider,
            names.RESPONSE_MODEL: served.model,
        }
        failed = labels | {names.ERROR: record.error_code} if record.error_code else labels
        self._duration.record(receipt.total_us / US_PER_S, failed)
        usage = receipt.usage
        for kind, tokens in (("input", usage.prompt_tokens), ("output", usage.completion_tokens)):
            if tokens:
                self._tokens.record(tokens, labels | {names.TOKEN_TYPE: kind})
        if not identity.streamed or receipt.ttft_us is None:
            return
        self._first.record(receipt.ttft_us / US_PER_S, labels)
        # A record does not say when each piece came: the mean of the call, by its tokens.
        if usage.completion_tokens > 1:
            rest_us = max(receipt.total_us - receipt.ttft_us, 0)
            self._each.record(rest_us / (usage.completion_tokens - 1) / US_PER_S, labels)
