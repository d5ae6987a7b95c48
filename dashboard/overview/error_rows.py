"""Errors of a period, by provider and by code: how many, since when, and any spike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from urllib.parse import urlencode

from dashboard.calls.status_text import STATUS_WORDS
from dashboard.templatetags.money import percent
from dashboard.ui.charts import sparkline
from gateway.models import CallRecord
from gateway.selectors.errors import (
    ErrorCount,
    ErrorSum,
    error_counts,
    errors_known_since,
    sum_errors,
)
from gateway.selectors.periods import Period
from gateway.selectors.visible import Visible

Status = CallRecord.Status
SHOWN = 8
# A step is a part of a spike when it has at least this share of the highest step, and when the
# highest has so many times what a step usually has, and so many errors.
_SPIKE_SHARE, _SPIKE_FACTOR, _SPIKE_LEAST = 0.25, 4, 5
# Errors that are no provider's, by status.
_WITHOUT_PROVIDER = {
    Status.REFUSED: "Refused by the gateway",
    Status.PLATFORM_ABORTED: "Aborted by the gateway",
    Status.UPSTREAM_ERROR: "No provider reached",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """One provider's or one code's errors. query: of the list of calls behind them. share: of all
    errors. spike_at: since when there are many more than usual, None when there never were."""

    label: str
    note: str
    query: str
    calls: int
    share: str
    first_at: datetime
    last_at: datetime
    spike_at: datetime | None
    spark: str


@dataclass(frozen=True, slots=True)
class ErrorTables:
    """The rows, those with most errors first. more_*: how many are not shown. known_since: errors
    from before are not all counted yet; None where they are."""

    by_provider: Sequence[ErrorRow]
    by_code: Sequence[ErrorRow]
    more_providers: int
    more_codes: int
    known_since: datetime | None

    @property
    def is_empty(self) -> bool:
        return not self.by_code


def error_tables(visible: Visible, period: Period) -> ErrorTables:
    """Read the totals of errors and lay them out."""
    counts = error_counts(visible, period)
    providers = _rows(counts, period, _provider_of, _provider_row)
    codes = _rows(counts, period, _code_of, _code_row)
    known_since = errors_known_since()
    is_partial = known_since is not None and known_since > period.starts_at
    return ErrorTables(
        providers[:SHOWN],
        codes[:SHOWN],
        max(0, len(providers) - SHOWN),
        max(0, len(codes) - SHOWN),
        known_since if is_partial else None,
    )


Group = tuple[str, str]


def _provider_of(each: ErrorCount) -> Group:
    """Calls that we refused or aborted are not their provider's errors."""
    is_providers = each.provider and each.status == Status.UPSTREAM_ERROR
    return (each.provider if is_providers else "", each.status)


def _code_of(each: ErrorCount) -> Group:
    return each.code, each.status


def _provider_row(group: Group) -> tuple[str, str, dict[str, str]]:
    provider, status = group
    if provider:
        return provider, "", {"status": status, "provider": provider}
    return _WITHOUT_PROVIDER.get(Status(status), status), "", {"status": status}


def _code_row(group: Group) -> tuple[str, str, dict[str, str]]:
    code, status = group
    query = {"status": status} | ({"error": code} if code else {})
    return code or "no code", STATUS_WORDS[status].label, query


def _rows(
    counts: Sequence[ErrorCount],
    period: Period,
    group_of: Callable[[ErrorCount], Group],
    describe: Callable[[Group], tuple[str, str, dict[str, str]]],
) -> list[ErrorRow]:
    groups: dict[Group, list[ErrorCount]] = {}
    for each in counts:
        groups.setdefault(group_of(each), []).append(each)
    sums = {group: sum_errors(members) for group, members in groups.items()}
    total = sum(each.calls for each in sums.values())
    ordered = sorted(sums.items(), key=lambda item: (-item[1].calls, item[0]))
    return [_row(describe(group), found, total, period) for group, found in ordered]


def _row(
    described: tuple[str, str, dict[str, str]], found: ErrorSum, total: int, period: Period
) -> ErrorRow:
    label, note, query = described
    steps = [found.calls_by_step[step] for step in range(period.steps)]
    spike = find_spike(steps)
    return ErrorRow(
        label=label,
        note=note,
        query=urlencode(query),
        calls=found.calls,
        share=percent(found.calls / total),
        first_at=found.first_at,
        last_at=found.last_at,
        spike_at=None if spike is None else max(period.step_starts()[spike], found.first_at),
        spark=sparkline(steps),
    )


def find_spike(steps: Sequence[int]) -> int | None:
    """Return in which step a spike begins: the stretch around the highest step in which there are
    many more than usual. None when no step stands out."""
    highest = max(steps, default=0)
    usual = median(steps) if steps else 0
    if highest < _SPIKE_LEAST or highest < _SPIKE_FACTOR * usual:
        return None
    least = max(_SPIKE_SHARE * highest, 2 * usual)
    begin = steps.index(highest)
    while begin and steps[begin - 1] >= least:
        begin -= 1
    return begin
