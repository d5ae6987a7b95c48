"""Failed calls of a period by provider, status and code: how many, and from when to when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Min, Sum

from gateway.models import ErrorMark
from gateway.selectors.periods import Period
from gateway.selectors.steps import step_number
from gateway.selectors.stretches import error_rows
from gateway.selectors.visible import Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount:
    """Calls that failed in one way in one step of a period."""

    step: int
    # "" where none was reached.
    provider: str
    status: str
    code: str
    calls: int
    # When the first and the last of them began.
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class ErrorSum:
    """What several counts add up to. calls_by_step: of the steps in which there were any."""

    calls: int
    first_at: datetime
    last_at: datetime
    calls_by_step: Counter[int]


def error_counts(visible: Visible, period: Period) -> list[ErrorCount]:
    """Return the failed calls of a period, from the totals."""
    last = period.steps - 1
    return [
        ErrorCount(
            step=min(step, last),
            provider=provider,
            status=status,
            code=code,
            calls=calls,
            first_at=first_at,
            last_at=last_at,
        )
        for rows in error_rows(visible, period.starts_at, period.ends_at, longest_s=period.step_s)
        for step, provider, status, code, calls, first_at, last_at in rows.annotate(
            step=step_number(period)
        )
        .values_list("step", "provider", "status", "error_code")
        .annotate(Sum("calls"), Min("first_at"), Max("last_at"))
        .order_by()
    ]


def sum_errors(counts: list[ErrorCount]) -> ErrorSum:
    """Return what at least one count adds up to."""
    by_step: Counter[int] = Counter()
    for each in counts:
        by_step[each.step] += each.calls
    return ErrorSum(
        by_step.total(),
        min(each.first_at for each in counts),
        max(each.last_at for each in counts),
        by_step,
    )


def errors_known_since() -> datetime | None:
    """Return from when on errors are complete while older ones are still being added up."""
    mark = ErrorMark.objects.first()
    return None if mark is None else mark.since
