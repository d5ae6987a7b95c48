"""Metrics of calls: what gateway.metrics.call_totals has counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway.metrics.call_totals import CallTotals
from gateway.metrics.families import Labels, counter, histogram

# edge: before any application ran. call: not admitted.
Refusals = dict[str, Callable[[], list[tuple[str, int]]]]


class CallCollector(Collector):
    """refusals: counts by error code, for each place that refuses."""

    def __init__(self, totals: CallTotals, refusals: Refusals) -> None:
        self._totals = totals
        self._refusals = refusals

    def collect(self) -> Iterator[Metric]:
        yield from self._counts()
        yield from self._durations()
        yield counter(
            "provider_attempts",
            "Attempts at providers, by outcome: ok or the error code.",
            ("provider", "outcome"),
            {
                (provider, code or "ok"): count
                for (provider, code), count in self._totals.attempts()
            },
        )
        yield counter(
            "refusals",
            "Requests that were refused before they became a call, by error code.",
            ("layer", "code"),
            {
                (layer, code): count
                for layer, read in self._refusals.items()
                for code, count in read()
            },
        )

    def _counts(self) -> Iterator[Metric]:
        calls, tokens = Counter[Labels](), Counter[Labels]()
        charge, absorbed = Counter[Labels](), Counter[Labels]()
        for (endpoint, model, _), series in self._totals.series():
            for status, count in list(series.ended.items()):
                calls[endpoint, model, status] += count
            tokens[model, "prompt"] += series.prompt_tokens
            tokens[model, "cached"] += series.cached_tokens
            tokens[model, "completion"] += series.completion_tokens
            tokens[model, "reasoning"] += series.reasoning_tokens
            charge[model,] += series.charge_nusd
            absorbed[model,] += series.absorbed_nusd
        yield counter("calls", "Admitted calls that ended.", ("endpoint", "model", "status"), calls)
        yield counter(
            "tokens",
            "Tokens of ended calls. cached is a part of prompt, reasoning of completion.",
            ("model", "kind"),
            tokens,
        )
        yield counter("charge_nusd", "Charged for calls, in nano-USD.", ("model",), charge)
        yield counter(
            "absorbed_nusd",
            "Price of calls that was not charged, in nano-USD.",
            ("model",),
            absorbed,
        )

    def _durations(self) -> Iterator[Metric]:
        all_series = self._totals.series()
        yield histogram(
            "call_duration_seconds",
            "From the request to the end of the response.",
            ("endpoint", "streamed"),
            [
                ((endpoint, "yes" if streamed else "no"), series.total)
                for (endpoint, _, streamed), series in all_series
            ],
        )
        yield histogram(
            "added_latency_seconds",
            "What calls took beyond their providers.",
            ("endpoint",),
            [((endpoint,), series.added) for (endpoint, _, _), series in all_series],
        )
        yield histogram(
            "time_to_first_token_seconds",
            "From the request to the first event of a stream.",
            ("model",),
            [
                ((model,), series.first_token)
                for (_, model, streamed), series in all_series
                if streamed
            ],
        )
