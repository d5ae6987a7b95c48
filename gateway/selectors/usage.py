"""Totals, series and percentiles of a period. Read from the rollups, never from the call table."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, QuerySet, Sum

from gateway.core.buckets import percentile_us
from gateway.models import CallRecord, LatencyRollup, UsageRollup
from gateway.selectors.periods import QUARTER_S, Period, floor_to_quarter
from gateway.selectors.steps import step_number
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

    def add(self, row: Mapping[str, Any], share: float = 1.0) -> None:
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


def totals(visible: Visible, period: Period) -> Totals:
    """Return the sums of a period."""
    found = Totals()
    for row in _usage(visible, period).values("status").annotate(**_SUMS).order_by():
        found.add(row)
    return found


def totals_before(visible: Visible, period: Period) -> Totals:
    """Return the sums of the period before this one, up to the same moment in it.

    The quarter of an hour that moment falls into counts by the share that had passed, so the
    figures are close, not exact: good for a comparison, not for a bill.
    """
    before = period.previous()
    cut_at = floor_to_quarter(before.ends_at)
    share = (before.ends_at - cut_at).total_seconds() / QUARTER_S
    rows = _usage(visible, before)
    found = Totals()
    for row in rows.filter(starts_at__lt=cut_at).values("status").annotate(**_SUMS).order_by():
        found.add(row)
    if share:
        for row in rows.filter(starts_at=cut_at).values("status").annotate(**_SUMS).order_by():
            found.add(row, share)
    return found


def totals_by_step(visible: Visible, period: Period) -> list[Totals]:
    """Return the sums of each step of the period, oldest first, empty steps included."""
    steps = [Totals() for _ in range(period.steps)]
    rows = _usage(visible, period).annotate(step=step_number(period))
    for row in rows.values("step", "status").annotate(**_SUMS).order_by():
        steps[min(row["step"], period.steps - 1)].add(row)
    return steps


def totals_by_model(visible: Visible, period: Period) -> dict[str, Totals]:
    """Return the sums of each model, the costliest first. "" is calls refused before routing."""
    return _grouped(_usage(visible, period), "model")


def totals_by_key(visible: Visible, period: Period) -> dict[uuid.UUID, Totals]:
    """Return the sums of each key, the costliest first."""
    return _grouped(_usage(visible, period), "key_id")


def percentiles(visible: Visible, period: Period) -> dict[str, Percentiles]:
    """Return the percentiles of each LatencyRollup.Measure over the period.

    Durations are kept per workspace, not per key: who may see only some keys gets none.
    """
    rows = _latency(visible, period).values("measure", "bucket")
    counts: dict[str, Counter[int]] = {measure: Counter() for measure in LatencyRollup.Measure}
    for row in rows.annotate(total=Sum("calls")).order_by():
        counts[row["measure"]][row["bucket"]] += row["total"]
    return {measure: _percentiles(buckets) for measure, buckets in counts.items()}


def percentiles_by_step(visible: Visible, period: Period) -> dict[str, list[Percentiles]]:
    """Return the percentiles of each measure for each step of the period, oldest first."""
    counts = {
        measure: [Counter[int]() for _ in range(period.steps)] for measure in LatencyRollup.Measure
    }
    rows = _latency(visible, period).annotate(step=step_number(period))
    for row in rows.values("step", "measure", "bucket").annotate(total=Sum("calls")).order_by():
        step = min(row["step"], period.steps - 1)
        counts[LatencyRollup.Measure(row["measure"])][step][row["bucket"]] += row["total"]
    return {measure: [_percentiles(each) for each in steps] for measure, steps in counts.items()}


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


def _usage(visible: Visible, period: Period) -> QuerySet[UsageRollup]:
    rows = UsageRollup.objects.filter(
        workspace_id=visible.workspace_id,
        starts_at__gte=period.starts_at,
        starts_at__lt=period.ends_at,
    )
    return rows if visible.key_ids is None else rows.filter(key_id__in=visible.key_ids)


def _latency(visible: Visible, period: Period) -> QuerySet[LatencyRollup]:
    if not visible.is_everything:
        return LatencyRollup.objects.none()
    return LatencyRollup.objects.filter(
        workspace_id=visible.workspace_id,
        starts_at__gte=period.starts_at,
        starts_at__lt=period.ends_at,
    )


def _grouped(rows: QuerySet[UsageRollup], name: str) -> dict[Any, Totals]:
    groups: dict[Any, Totals] = {}
    for row in rows.annotate(group=F(name)).values("group", "status").annotate(**_SUMS).order_by():
        groups.setdefault(row["group"], Totals()).add(row)
    costliest_first = sorted(groups.items(), key=lambda item: _rank(item[1]), reverse=True)
    return dict(costliest_first)


def _rank(group: Totals) -> tuple[int, int]:
    return (group.charge_nusd, group.calls)


def _percentiles(counts: Counter[int]) -> Percentiles:
    return Percentiles(percentile_us(counts, 0.5), percentile_us(counts, 0.95))
