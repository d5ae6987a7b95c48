"""The values of a limit rule as people set them, checked.

Every function raises ValidationError for the field it reads, with a sentence for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, cast

from django.core.exceptions import ValidationError

from accounts.text import read_line
from gateway.core.money import NUSD_PER_USD
from keys.limit_words import ALGORITHMS, METRICS
from keys.models import LimitRule
from keys.rules import Readers, read_all, read_model_names

LABEL_CHARS = 80
NUSD_PER_MICRO_USD = 1_000
# The highest maximum of each metric; Redis counts exactly up to 2**53.
HIGHEST: Mapping[str, int] = {
    LimitRule.Metric.REQUESTS: 10**9,
    LimitRule.Metric.TOKENS: 10**12,
    LimitRule.Metric.PROMPT_TOKENS: 10**12,
    LimitRule.Metric.COMPLETION_TOKENS: 10**12,
    LimitRule.Metric.COST: 10**6 * NUSD_PER_USD,
    LimitRule.Metric.CONCURRENT_REQUESTS: 100_000,
}


class LimitValues(TypedDict):
    """What a rule counts, and how much of it. maximum, burst: cost in nano-USD."""

    metric: str
    maximum: int
    period: str
    algorithm: str
    burst: int | None
    per_request: bool
    only_models: list[str]
    label: str
    is_enabled: bool


def read_limit(
    *,
    is_of_model: bool,
    metric: str,
    maximum: int | None,
    period: str,
    algorithm: str,
    burst: int | None,
    per_request: bool,
    only_models: Sequence[str],
    label: str,
    is_enabled: bool,
) -> LimitValues:
    """Return the values as they are stored, or raise with the errors of all of them at once.

    is_of_model: the limit is one model's. algorithm: empty for the rolling window.
    """
    has_none = ""
    if metric == LimitRule.Metric.CONCURRENT_REQUESTS:
        has_none = "Concurrent requests have no {}. Leave it empty."
    elif per_request:
        has_none = "A maximum per request has no {}. Leave it empty."
    readers: Readers = {
        "metric": lambda: _one_of("metric", metric, METRICS),
        "maximum": lambda: read_amount(metric, maximum, "maximum"),
        "period": lambda: _read_period(period, has_none),
        "algorithm": lambda: _read_algorithm(algorithm, has_none),
        "burst": lambda: _read_burst(metric, algorithm, burst),
        "per_request": lambda: _read_per_request(metric, is_set=per_request),
        "only_models": lambda: _read_models(only_models, is_of_model=is_of_model),
        "label": lambda: read_label(label),
        "is_enabled": lambda: is_enabled,
    }
    return cast(LimitValues, read_all(readers))


def _read_period(period: str, has_none: str) -> str:
    """has_none: the sentence for a period where there can be none; empty: there has to be one."""
    if not has_none:
        return _one_of("period", period, LimitRule.Period.values)
    if period:
        raise ValidationError({"period": has_none.format("period")})
    return ""


def _read_algorithm(algorithm: str, has_none: str) -> str:
    if not has_none:
        return _one_of("algorithm", algorithm or LimitRule.Algorithm.ROLLING.value, ALGORITHMS)
    if algorithm:
        raise ValidationError({"algorithm": has_none.format("algorithm")})
    return ""


def _one_of(field: str, value: str, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        article = "an" if field == "algorithm" else "a"
        raise ValidationError({field: f"Choose {article} {field}: {', '.join(names)}."})
    return value


def _read_per_request(metric: str, *, is_set: bool) -> bool:
    if is_set and metric == LimitRule.Metric.REQUESTS:
        words = "A maximum per request requires tokens or cost as the metric."
        raise ValidationError({"per_request": words})
    if is_set and metric == LimitRule.Metric.CONCURRENT_REQUESTS:
        raise ValidationError({"per_request": "Concurrent requests have no maximum per request."})
    return is_set


def _read_burst(metric: str, algorithm: str, burst: int | None) -> int | None:
    if burst is None:
        return None
    if algorithm != LimitRule.Algorithm.TOKEN_BUCKET:
        raise ValidationError({"burst": "Burst requires the token bucket algorithm."})
    return read_amount(metric, burst, "burst")


def read_amount(metric: str, amount: int | None, field: str) -> int | None:
    """Return an amount in the metric's unit; any of a metric that does not exist."""
    highest = HIGHEST.get(metric)
    if highest is None:
        return amount  # the metric is complained about
    is_cost = metric == LimitRule.Metric.COST
    lowest = NUSD_PER_MICRO_USD if is_cost else 1
    if type(amount) is int and lowest <= amount <= highest and amount % lowest == 0:
        return amount
    if is_cost:
        words = (
            f"Enter an amount from 0.000001 to {highest // NUSD_PER_USD:,} USD with at most"
            " 6 decimals."
        )
    else:
        words = f"Enter a whole number of {METRICS[metric].lower()} from 1 to {highest:,}."
    raise ValidationError({field: words})


def _read_models(names: Sequence[str], *, is_of_model: bool) -> list[str]:
    found = read_model_names(names, "only_models")
    if found and is_of_model:
        raise ValidationError({"only_models": "This limit is for one model already."})
    return found


def read_label(label: str) -> str:
    """Return the note on a limit, empty for none."""
    return read_line(label, field="label", max_chars=LABEL_CHARS) if label.strip() else ""
