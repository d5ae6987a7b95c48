"""Adds the totals of quarters of an hour up to those of hours and days, which pages read.

An hour at a time, each in one short transaction that moves the mark behind it: `RollupMark`. So it
may stop anywhere and go on there, and a database that has none of these totals yet gets them while
it is in use. What comes late, to an hour before the mark, is added by who brings it
(gateway.stores.late_totals).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import connection, transaction
from django.utils import timezone

from accounts.pacing import repeat_for
from gateway.core.time_spans import DAY, DAY_S, HOUR, HOUR_S, LONG_AGO, QUARTER_S
from gateway.models import RollupMark, UsageRollup

# Most calls of an hour have ended and are in the database by then; the others come late.
WAIT = timedelta(minutes=5)
WORK_S = 15.0  # of each minute, pauses included
_SUMS = ("calls", "prompt_tokens", "completion_tokens", "charge_nusd", "absorbed_nusd")
_KEYS = ("workspace_id", "key_id", "model", "status")
_WORKSPACES = ("workspace_id", "model", "status")
_DURATIONS = ("workspace_id", "measure", "bucket")


def roll_up(*, now: datetime | None = None, work_s: float = WORK_S) -> int:
    """Add up what is complete, for so long at the most; return how many hours were added up."""
    now = now or timezone.now()
    return repeat_for(work_s, partial(roll_up_an_hour, now - WAIT))


@transaction.atomic
def roll_up_an_hour(now: datetime) -> bool:
    """Add up the next hour that has totals, if it ended before `now`."""
    mark = RollupMark.objects.select_for_update().first()
    start = _next_hour(mark)
    if start is None or start + HOUR > now:
        return False
    end = start + HOUR
    if mark is not None and start.date() > mark.until.date():
        # The hours between had no calls; their days may be complete now.
        _roll_up_day(mark.until)
    _roll_up_hour(start, end)
    if end.hour == 0:
        _roll_up_day(start)
    if mark is None:
        RollupMark.objects.create(until=end)
    else:
        mark.until = end
        mark.save()
    return True


def _next_hour(mark: RollupMark | None) -> datetime | None:
    """Return when the next hour begins of which there are totals of quarters."""
    since = LONG_AGO if mark is None else mark.until
    first = oldest_total(since)
    return first and first.replace(minute=0, second=0, microsecond=0)


def oldest_total(since: datetime = LONG_AGO) -> datetime | None:
    """Return when the first quarter of an hour begins, from then on, that has totals."""
    totals = UsageRollup.objects.filter(starts_at__gte=since).order_by("starts_at")
    return totals.values_list("starts_at", flat=True).first()


def _roll_up_hour(start: datetime, end: datetime) -> None:
    usage, latency = "gateway_usagerollup", "gateway_latencyrollup"
    _add_up(usage, "gateway_keyusage", _KEYS, _SUMS, HOUR_S, start, end)
    for span_s in (QUARTER_S, HOUR_S):
        _add_up(usage, "gateway_workspaceusage", _WORKSPACES, _SUMS, span_s, start, end)
        _add_up(latency, "gateway_workspacelatency", _DURATIONS, ("calls",), span_s, start, end)


def _roll_up_day(moment: datetime) -> None:
    """Add up the hours of the day that the moment is in."""
    start = moment.replace(hour=0)
    for table, groups, sums in (
        ("gateway_keyusage", _KEYS, _SUMS),
        ("gateway_workspaceusage", _WORKSPACES, _SUMS),
        ("gateway_workspacelatency", _DURATIONS, ("calls",)),
    ):
        _add_up(table, table, groups, sums, DAY_S, start, start + DAY)


def _add_up(
    source: str,
    target: str,
    groups: Sequence[str],
    sums: Sequence[str],
    span_s: int,
    start: datetime,
    end: datetime,
) -> None:
    """Insert the totals of a span, or those of each quarter in it, from shorter ones."""
    adapt = connection.ops.adapt_datetimefield_value
    begins = "r.starts_at" if span_s == QUARTER_S else "%s"
    grouped = ", ".join(f"r.{name}" for name in groups)
    summed = ", ".join(f"SUM(r.{name})" for name in sums)
    # Totals are found by workspace and moment. What ended in the span has totals of usage: the
    # workspaces of those come first, and CROSS JOIN tells SQLite, which has no statistics, so.
    statement = f"""
        INSERT INTO {target} (span_s, starts_at, {", ".join((*groups, *sums))})
        SELECT {span_s}, {begins}, {grouped}, {summed}
        FROM (SELECT DISTINCT workspace_id FROM gateway_usagerollup
              WHERE starts_at >= %s AND starts_at < %s) w CROSS JOIN {source} r
        WHERE r.workspace_id = w.workspace_id AND r.starts_at >= %s AND r.starts_at < %s
              {f"AND r.span_s = {HOUR_S}" if span_s == DAY_S else ""}
        GROUP BY {grouped}{", r.starts_at" if span_s == QUARTER_S else ""}
    """  # noqa: S608 (constants only)
    between = [adapt(start), adapt(end)]
    values = [*between, *between]
    with connection.cursor() as cursor:
        cursor.execute(statement, values if span_s == QUARTER_S else [adapt(start), *values])
