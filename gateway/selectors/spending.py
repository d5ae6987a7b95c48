"""What the owner of a budget has spent this day, week and month, and ever, from the rollups."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db.models import Model, QuerySet, Sum, Value

from gateway.core.budget_owner import BudgetOwner, Level, key_owner
from gateway.core.calendar import UTC_NAME, calendar_at
from gateway.core.spent import Spent
from gateway.core.time_spans import FAR_AHEAD, LONG_AGO
from gateway.models import KeyUsage, UsageRollup, WorkspaceUsage
from gateway.selectors.stretches import (
    KEY_SPANS_S,
    WORKSPACE_SPANS_S,
    Stretch,
    find_stretches,
    rows_of,
)
from keys.models import ApiKey

ALL_PERIODS = ("day", "week", "month", "total")


def spent_by(
    owner: BudgetOwner,
    at: float,
    *,
    timezone: str = UTC_NAME,
    periods: Collection[str] = ALL_PERIODS,
) -> Spent:
    """Return what the owner has spent in the day, week and month of a moment (seconds since the
    epoch), and ever. Those that are not asked for are 0."""
    calendar = calendar_at(timezone, at)
    starts = {
        "day": calendar.day.starts_at,
        "week": calendar.week.starts_at,
        "month": calendar.month.starts_at,
        "total": LONG_AGO,
    }
    asked = {period: start for period, start in starts.items() if period in periods}
    sums = _sums_since(owner, sorted(set(asked.values())))
    return Spent(*[sums[starts[period]] if period in asked else 0 for period in ALL_PERIODS])


def total_of(key_id: uuid.UUID) -> int:
    """Return what a key has spent ever, in nano-USD."""
    return spent_by(key_owner(key_id, ""), time.time(), periods=("total",)).total_nusd


def _sums_since(owner: BudgetOwner, starts: Sequence[datetime]) -> dict[datetime, int]:
    """Return what was spent from each of these moments on, which are in order. One query."""
    spans_s = WORKSPACE_SPANS_S if owner.level is Level.WORKSPACE else KEY_SPANS_S
    ends = [*starts[1:], FAR_AHEAD]
    parts = [
        (number, stretch)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
        for stretch in find_stretches(start, end, spans_s)
    ]
    if not parts:
        return {}
    first, *more = [
        _rows_of(owner, stretch)
        .order_by()
        .annotate(part=Value(number))
        .values("part")
        .annotate(spent=Sum("charge_nusd"))
        .values_list("part", "spent")
        for number, stretch in parts
    ]
    between = dict.fromkeys(range(len(starts)), 0)
    for number, spent_nusd in first.union(*more, all=True):
        if number is not None:
            between[number] += spent_nusd or 0
    return {start: sum(list(between.values())[number:]) for number, start in enumerate(starts)}


def _rows_of(owner: BudgetOwner, stretch: Stretch) -> QuerySet[Model]:
    if owner.level is Level.WORKSPACE:
        rows = rows_of(stretch, UsageRollup, WorkspaceUsage)
        return rows.filter(workspace_id=owner.workspace_id)
    rows = rows_of(stretch, UsageRollup, KeyUsage)
    if owner.level is Level.KEY:
        return rows.filter(key_id=owner.id)
    own = ApiKey.objects.filter(workspace_id=owner.workspace_id, created_by=owner.member_id)
    return rows.filter(workspace_id=owner.workspace_id, key_id__in=own.order_by().values("pk"))
