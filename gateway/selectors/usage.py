"""Totals, series and percentiles of a period. Read from the rollups, never from the call table."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from operator import neg

from django.db.models import Model, QuerySet, Sum

from accounts.untyped import NamedRow
from gateway.core.latency_histogram import percentile_us
from gateway.core.time_spans import DAY_S, QUARTER_S
from gateway.models import (
    CallRecord,
    LatencyRollup,
    WorkspaceLatency,
)
from gateway.selectors.periods import Period, floor_to_quarter
from gateway.selectors.steps import step_number
from gateway.selectors.stretches import (
    WORKSPACE_SPANS_S,
    find_stretches,
    plain_rows,
    rows_of,
    usage_rows,
)
from gateway.selectors.visible import Visible

Status = CallRecord.Status

# A call failed when its caller got nothing of use and had not asked for that.
FAILED_STATUSES = frozenset({Status.UPSTREAM_ERROR, Status.PLATFORM_ABORTED, Status.REFUSED})

_SUMS = {
    "total_calls": Sum("calls"),
    "total_prompt_tokens": Sum("prompt_tokens"),
    "total_completion_tokens": Sum("completion_tokens"),
    "total_charge_nusd": Sum("charge_nusd"),
    "total_absorbed_nusd": Sum("absorbed_nusd"),
}


@dataclass(slots=True)
class Totals:
    """What some calls add up to. calls_by_status: the values of CallRecord.Status."""

    calls_by_status: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    charge_nusd: int = 0
    absorbed_nusd: int = 0

    @property
    def calls(self) -> int:
        return self.calls_by_status.total()

    @property
    def failed_calls(self) -> int:
        return sum(self.calls_by_status[status] for status in FAILED_STATUSES)

    @property
    def error_share(self) -> float | None:
        """Failed calls as a share of all calls, 0 to 1, or None when there were none."""
        return self.failed_calls / self.calls if self.calls else None

    def add_sums(self, status: str, sums: Sequence[int]) -> None:
        """Add calls of a status. sums: in the order of _SUMS."""
        calls, prompt_tokens, completion_tokens, charge_nusd, absorbed_nusd = sums
        self.calls_by_status[status] += calls
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self.charge_nusd += charge_nusd
        self.absorbed_nusd += absorbed_nusd

    def add(self, row: NamedRow, share: float = 1.0) -> None:
        """Add one grouped row, or a share of it (then the sums are rounded)."""
        self.calls_by_status[row["status"]] += round(row["total_calls"] * share)
        self.prompt_tokens += round(row["total_prompt_tokens"] * share)
        self.completion_tokens += round(row["total_completion_tokens"] * share)
        self.charge_nusd += round(row["total_charge_nusd"] * share)
        self.absorbed_nusd += round(row["total_absorbed_nusd"] * share)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Microseconds below which half and 95 % of the `ok` calls stay; None without such calls."""

    p50_us: float | None = None
    p95_us: float | None = None


@dataclass(frozen=True, slots=True)
class Spans:
    """Percentiles by LatencyRollup.Measure: of a whole period, and of each of its steps."""

    whole: Mapping[str, Percentiles]
    by_step: Mapping[str, Sequence[Percentiles]]


def totals(visible: Visible, period: Period) -> Totals:
    """Return the sums of a period."""
    found = Totals()
    for rows in usage_rows(visible, period.starts_at, period.ends_at):
        _add_by_status(found, rows)
    return found


def totals_before(visible: Visible, period: Period) -> Totals:
    """Return the sums of the period before this one, up to the same moment in it.

    The quarter of an hour that moment falls into counts by the share that had passed, so the
    figures are close, not exact: good for a comparison, not for a bill.
    """
    before = period.previous()
    cut_at = floor_to_quarter(before.ends_at)
    share = (before.ends_at - cut_at).total_seconds() / QUARTER_S
    found = Totals()
    for rows in usage_rows(visible, before.starts_at, cut_at):
        _add_by_status(found, rows)
    if share:
        for rows in usage_rows(visible, cut_at, cut_at + timedelta(seconds=QUARTER_S)):
            _add_by_status(found, rows, share)
    return found


def totals_by_step_and_model(
    visible: Visible, period: Period
) -> tuple[list[Totals], dict[str, Totals]]:
    """Return the sums of each step, oldest first, empty ones included, and those of each model,
    the costliest first. Model "": calls refused before routing. One read for both."""
    steps = [Totals() for _ in range(period.steps)]
    models: dict[str, Totals] = {}
    for rows in usage_rows(visible, period.starts_at, period.ends_at, longest_s=period.step_s):
        stepped = rows.annotate(step=step_number(period))
        grouped = stepped.values_list("step", "model", "status").annotate(**_SUMS).order_by()
        for step, model, status, *sums in plain_rows(grouped):
            numbers = list(map(int, sums))
            steps[min(step, period.steps - 1)].add_sums(status, numbers)
            models.setdefault(model, Totals()).add_sums(status, numbers)
    return steps, dict(sorted(models.items(), key=_by_cost, reverse=True))


def totals_by_key(
    visible: Visible, period: Period, *, limit: int | None = None
) -> dict[uuid.UUID, Totals]:
    """Return the sums of each key that made calls, the costliest first, at most `limit`."""
    keys: dict[uuid.UUID, Totals] = {}
    for rows in usage_rows(visible, period.starts_at, period.ends_at, by_key=True):
        for row in rows.values("key_id", "status").annotate(**_SUMS).order_by():
            keys.setdefault(row["key_id"], Totals()).add(row)
    top = sorted(keys.items(), key=lambda item: (*map(neg, _by_cost(item)), item[0]))
    return dict(top[:limit])


def percentiles(visible: Visible, period: Period) -> dict[str, Percentiles]:
    """Return the percentiles of each measure over the whole period, for less than spans costs."""
    counts: dict[str, Counter[int]] = {each: Counter() for each in LatencyRollup.Measure}
    for rows in _latency(visible, period):
        grouped = rows.values_list("measure", "bucket").annotate(total=Sum("calls"))
        for measure, bucket, calls in plain_rows(grouped.order_by()):
            counts[measure][bucket] += int(calls)
    return {measure: _percentiles(buckets) for measure, buckets in counts.items()}


def spans(visible: Visible, period: Period) -> Spans:
    """Return the percentiles of each LatencyRollup.Measure.

    Durations are kept per workspace, not per key: who may see only some keys gets none.
    """
    last = period.steps - 1
    counts: dict[str, list[Counter[int]]] = {
        measure: [Counter() for _ in range(period.steps)] for measure in LatencyRollup.Measure
    }
    sums: dict[str, Counter[int]] = {measure: Counter() for measure in counts}
    for rows in _latency(visible, period, longest_s=period.step_s):
        stepped = rows.annotate(step=step_number(period))
        grouped = stepped.values_list("step", "measure", "bucket").annotate(total=Sum("calls"))
        for step, measure, bucket, calls in plain_rows(grouped.order_by()):
            number = int(calls)
            counts[measure][min(step, last)][bucket] += number
            sums[measure][bucket] += number
    return Spans(
        whole={measure: _percentiles(buckets) for measure, buckets in sums.items()},
        by_step={
            measure: [_percentiles(each) for each in steps] for measure, steps in counts.items()
        },
    )


def change(now: float | None, before: float | None) -> float | None:
    """Return by what share a figure has changed (0.5 is half as much again), or None."""
    if now is None or not before:
        return None
    return now / before - 1


def merged(many: Iterable[Totals]) -> Totals:
    """Return the sum of several totals."""
    result = Totals()
    for each in many:
        result.calls_by_status += each.calls_by_status
        result.prompt_tokens += each.prompt_tokens
        result.completion_tokens += each.completion_tokens
        result.charge_nusd += each.charge_nusd
        result.absorbed_nusd += each.absorbed_nusd
    return result


def _latency(
    visible: Visible, period: Period, *, longest_s: int = DAY_S
) -> Iterator[QuerySet[Model]]:
    if not visible.is_everything:
        return
    for stretch in find_stretches(
        period.starts_at, period.ends_at, WORKSPACE_SPANS_S, longest_s=longest_s
    ):
        yield rows_of(stretch, LatencyRollup, WorkspaceLatency).filter(
            workspace_id=visible.workspace_id
        )


def _add_by_status(totals: Totals, rows: QuerySet[Model], share: float = 1.0) -> None:
    for row in rows.values("status").annotate(**_SUMS).order_by():
        totals.add(row, share)


def _by_cost(item: tuple[object, Totals]) -> tuple[int, int]:
    return item[1].charge_nusd, item[1].calls


def _percentiles(counts: Counter[int]) -> Percentiles:
    return Percentiles(percentile_us(counts, 0.5), percentile_us(counts, 0.95))
