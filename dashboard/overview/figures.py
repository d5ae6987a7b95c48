"""What the overview shows: selectors' figures made into tiles, charts and ranked rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dashboard.calls.status_text import STATUS_WORDS
from dashboard.keys.labels import key_labels
from dashboard.templatetags.money import compact, count, percent, usd_short
from dashboard.templatetags.timespan import duration
from dashboard.ui.charts import Chart, Series, bar_chart, line_chart, sparkline
from dashboard.ui.scales import (
    COUNTS,
    DURATIONS,
    LOG_DURATIONS,
    MONEY,
    show_count,
    show_usd,
)
from dashboard.ui.time_axis import Axis
from gateway.models import CallRecord, LatencyRollup
from gateway.selectors import usage
from gateway.selectors.periods import Period
from gateway.selectors.usage import Percentiles, Totals
from gateway.selectors.visible import Visible

Status = CallRecord.Status
Measure = LatencyRollup.Measure
_CHARTED = (Measure.TOTAL, Measure.ADDED)
RANKED = 6
Group = TypeVar("Group")
# In the order they are stacked, from the bottom.
_STATUSES = (
    Status.OK,
    Status.CANCELLED,
    Status.PARTIAL,
    Status.REFUSED,
    Status.UPSTREAM_ERROR,
    Status.PLATFORM_ABORTED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One figure. change: by what share it moved against the period before, or None."""

    label: str
    value: str
    note: str
    change: float | None = None
    spark: str = ""
    hint: str = ""
    worse_when_up: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of a top list. share: of the list's largest, in percent, for its bar."""

    label: str
    query: str
    totals: Totals
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures of one period. span_tiles: durations; empty for who may not see them.

    has_calls is False when nothing happened in the period.
    """

    tiles: Sequence[Tile]
    span_tiles: Sequence[Tile]
    calls_chart: Chart
    charts: Sequence[Chart]
    models: Sequence[Ranked]
    keys: Sequence[Ranked]
    has_calls: bool


def build_overview(visible: Visible, period: Period) -> Overview:
    """Read the rollups of the period and of the one before it, and lay them out."""
    steps, models = usage.totals_by_step_and_model(visible, period)
    now, before = usage.merged(steps), usage.totals_before(visible, period)
    axis = Axis(period.step_starts(), period.step_s)
    charts = [_spend_chart(axis, steps, now)]
    span_tiles: list[Tile] = []
    if visible.is_everything:
        spans = usage.spans(visible, period)
        before_spans = usage.percentiles(visible, period.previous())
        span_tiles = [_span_tile(measure, spans.whole, before_spans) for measure in _SPAN_WORDS]
        charts += [_span_chart(axis, measure, spans.by_step[measure]) for measure in _CHARTED]
    return Overview(
        tiles=_usage_tiles(steps, now, before),
        span_tiles=span_tiles,
        calls_chart=_calls_chart(axis, steps, now),
        charts=charts,
        models=_top_models(models),
        keys=_top_keys(visible, usage.totals_by_key(visible, period, limit=RANKED)),
        has_calls=now.calls > 0,
    )


_SPAN_WORDS: dict[Measure, tuple[str, str]] = {
    Measure.TOTAL: (
        "Total time",
        "From accepting a call to the end of its response. Completed calls only.",
    ),
    Measure.ADDED: (
        "Added time",
        "Total time minus provider time, including failed providers.",
    ),
    Measure.TTFT: ("First token", "From accepting a streamed call to the provider's first event."),
}


def _usage_tiles(steps: Sequence[Totals], now: Totals, before: Totals) -> list[Tile]:
    tokens = now.prompt_tokens + now.completion_tokens
    tokens_before = before.prompt_tokens + before.completion_tokens
    return [
        Tile(
            label="Calls",
            value=compact(now.calls),
            note=f"{count(before.calls)} before",
            change=usage.change(now.calls, before.calls),
            spark=sparkline([step.calls for step in steps]),
        ),
        Tile(
            label="Spend",
            value=usd_short(now.charge_nusd),
            note=f"{usd_short(_each(now))} per call",
            change=usage.change(now.charge_nusd, before.charge_nusd),
            spark=sparkline([step.charge_nusd for step in steps]),
            hint=f"Absorbed, not charged: {usd_short(now.absorbed_nusd)}",
        ),
        Tile(
            label="Tokens",
            value=compact(tokens),
            note=f"{compact(now.prompt_tokens)} in, {compact(now.completion_tokens)} out",
            change=usage.change(tokens, tokens_before),
            spark=sparkline([step.prompt_tokens + step.completion_tokens for step in steps]),
        ),
        Tile(
            label="Error rate",
            value=percent(now.error_share),
            note=f"{count(now.failed_calls)} of {count(now.calls)} calls",
            change=usage.change(now.error_share, before.error_share),
            spark=sparkline([step.error_share or 0 for step in steps]),
            hint="Share of ended calls that were refused, aborted or failed at the provider.",
            worse_when_up=True,
        ),
    ]


def _each(totals: Totals) -> int:
    return totals.charge_nusd // totals.calls if totals.calls else 0


def _span_tile(
    measure: Measure, now: Mapping[str, Percentiles], before: Mapping[str, Percentiles]
) -> Tile:
    label, hint = _SPAN_WORDS[measure]
    return Tile(
        label=f"{label}, p50",
        value=duration(now[measure].p50_us),
        note=f"p95 {duration(now[measure].p95_us)}",
        change=usage.change(now[measure].p50_us, before[measure].p50_us),
        hint=hint,
        worse_when_up=True,
    )


def _calls_chart(axis: Axis, steps: Sequence[Totals], now: Totals) -> Chart:
    seen = [status for status in _STATUSES if now.calls_by_status[status]] or [Status.OK]
    series = [
        Series(
            status,
            STATUS_WORDS[status].label,
            [step.calls_by_status[status] for step in steps],
            count(now.calls_by_status[status]),
            query=f"status={status}",
        )
        for status in seen
    ]
    title = "Calls by status"
    return bar_chart("calls", title=title, axis=axis, series=series, scale=COUNTS, show=show_count)


def _spend_chart(axis: Axis, steps: Sequence[Totals], now: Totals) -> Chart:
    spent: list[float | None] = [step.charge_nusd for step in steps]
    series = [Series("spend", "Spend", spent, usd_short(now.charge_nusd))]
    title = "Spend in USD"
    return bar_chart("spend", title=title, axis=axis, series=series, scale=MONEY, show=show_usd)


def _span_chart(axis: Axis, measure: Measure, steps: Sequence[Percentiles]) -> Chart:
    series = [
        Series("p50", "p50", [step.p50_us for step in steps], query="status=ok"),
        Series("p95", "p95", [step.p95_us for step in steps], query="status=ok"),
    ]
    title = _SPAN_WORDS[measure][0]
    # A provider that failed first adds a thousand times what the gateway does by itself.
    scale = LOG_DURATIONS if measure == Measure.ADDED else DURATIONS
    return line_chart(
        measure.value, title=title, axis=axis, series=series, scale=scale, show=duration
    )


def _top_models(groups: Mapping[str, Totals]) -> list[Ranked]:
    named = {name: totals for name, totals in groups.items() if name}
    return _ranked(named, lambda name: name, "model")


def _top_keys(visible: Visible, groups: Mapping[uuid.UUID, Totals]) -> list[Ranked]:
    labels = key_labels(visible.workspace_id, groups)
    return _ranked(groups, lambda key_id: labels.get(key_id, f"key {str(key_id)[:8]}"), "key")


def _ranked(
    groups: Mapping[Group, Totals], label: Callable[[Group], str], name: str
) -> list[Ranked]:
    top = list(groups.items())[:RANKED]
    # Free models still differ in calls: rank their bars by those when nothing was charged.
    by_calls = not any(totals.charge_nusd for _, totals in top)
    sizes = [totals.calls if by_calls else totals.charge_nusd for _, totals in top]
    largest = max(sizes, default=0) or 1
    return [
        Ranked(label(group), f"{name}={group}", totals, f"{100 * size / largest:.2f}%")
        for (group, totals), size in zip(top, sizes, strict=True)
    ]
