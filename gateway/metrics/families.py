"""Short ways to write down what Prometheus reads: a family is a name, a sentence and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from gateway.metrics.call_totals import Histogram

PREFIX = "tollhouse_"
US_PER_S = 1_000_000
Labels = tuple[str, ...]


def counter(
    name: str, help_text: str, labels: Sequence[str], values: Mapping[Labels, int]
) -> CounterMetricFamily:
    """Return counts by label values. name: without prefix and without _total."""
    family = CounterMetricFamily(PREFIX + name, help_text, labels=labels)
    for place, value in values.items():
        family.add_metric(place, value)
    return family


def gauge(
    name: str, help_text: str, value: float, labels: Mapping[str, str] | None = None
) -> GaugeMetricFamily:
    """Return one value."""
    family = GaugeMetricFamily(PREFIX + name, help_text, labels=list(labels or ()))
    family.add_metric(list((labels or {}).values()), value)
    return family


def histogram(
    name: str, help_text: str, labels: Sequence[str], items: Iterable[tuple[Labels, Histogram]]
) -> HistogramMetricFamily:
    """Return durations in seconds; those with the same label values are added up."""
    sums: dict[Labels, Histogram] = {}
    for place, one in items:
        sums.setdefault(place, Histogram(one.bounds_us)).add_all(one)
    family = HistogramMetricFamily(PREFIX + name, help_text, labels=labels)
    for place, whole in sums.items():
        bounds = [*(str(us / US_PER_S) for us in whole.bounds_us), "+Inf"]
        counts = list(accumulate(whole.counts))
        buckets = [(bound, float(count)) for bound, count in zip(bounds, counts, strict=True)]
        family.add_metric(place, buckets, whole.sum_us / US_PER_S)
    return family
