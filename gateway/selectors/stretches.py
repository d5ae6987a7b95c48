"""Which totals to read for a stretch of time: those of days where there are any, of hours at its
ends, of quarters of an hour for the rest.

Totals of longer spans are complete up to a mark (gateway.services.rolling_up); from there on there
are the drain's own, of quarters of an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Model, QuerySet

from accounts.untyped import SqlRow
from gateway.core.time_spans import (
    DAY_S,
    FAR_AHEAD,
    HOUR_S,
    LONG_AGO,
    QUARTER_S,
    round_down,
    round_up,
)
from gateway.models import (
    KeyErrors,
    KeyUsage,
    RollupMark,
    UsageRollup,
    WorkspaceErrors,
    WorkspaceUsage,
)
from gateway.selectors.visible import Visible

# Spans of the totals that are kept per workspace and per key; longest first.
WORKSPACE_SPANS_S = (DAY_S, HOUR_S, QUARTER_S)
KEY_SPANS_S: tuple[int, ...] = (DAY_S, HOUR_S)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From starts_at up to, not including, ends_at. span_s: of its totals; 0: the drain's."""

    span_s: int
    starts_at: datetime
    ends_at: datetime


def find_stretches(
    starts_at: datetime, ends_at: datetime, spans_s: Sequence[int], *, longest_s: int = DAY_S
) -> list[Stretch]:
    """Return stretches that together hold every total that begins between the two moments.

    spans_s: of the totals there are, longest first. longest_s: longer ones are of no use.
    """
    row = RollupMark.objects.first()
    until = LONG_AGO if row is None else row.until
    fitting = tuple(span_s for span_s in spans_s if span_s <= longest_s)
    return _cover(starts_at, ends_at, fitting, until)


def error_rows(
    visible: Visible, starts_at: datetime, ends_at: datetime, *, longest_s: int
) -> Iterator[QuerySet[Model]]:
    """Yield rows of errors, of spans of longest_s at most, that together are those of the calls
    between the two moments. Of single keys there are only quarters of an hour."""
    if visible.key_ids is not None:
        yield KeyErrors.objects.filter(
            workspace_id=visible.workspace_id,
            key_id__in=visible.key_ids,
            starts_at__gte=starts_at,
            starts_at__lt=ends_at,
        )
        return
    spans_s = tuple(span_s for span_s in WORKSPACE_SPANS_S if span_s <= longest_s)
    for stretch in _cover(starts_at, ends_at, spans_s, FAR_AHEAD):
        yield WorkspaceErrors.objects.filter(
            workspace_id=visible.workspace_id,
            span_s=stretch.span_s,
            starts_at__gte=stretch.starts_at,
            starts_at__lt=stretch.ends_at,
        )


def usage_rows(
    visible: Visible,
    starts_at: datetime,
    ends_at: datetime,
    *,
    by_key: bool = False,
    longest_s: int = DAY_S,
) -> Iterator[QuerySet[Model]]:
    """Yield rows of totals, of spans of longest_s at most, that together are those of the calls
    between the two moments. by_key: of each key, and not only of the workspace."""
    table: type[Model] = KeyUsage
    spans_s = KEY_SPANS_S
    if visible.is_everything and not by_key:
        table, spans_s = WorkspaceUsage, WORKSPACE_SPANS_S
    for stretch in find_stretches(starts_at, ends_at, spans_s, longest_s=longest_s):
        rows = rows_of(stretch, UsageRollup, table).filter(workspace_id=visible.workspace_id)
        yield rows if visible.key_ids is None else rows.filter(key_id__in=visible.key_ids)


def rows_of(stretch: Stretch, table: type[Model], longer: type[Model]) -> QuerySet[Model]:
    """Return the rows of a stretch: of the drain's table, or of that of longer spans."""
    within = {"starts_at__gte": stretch.starts_at, "starts_at__lt": stretch.ends_at}
    if not stretch.span_s:
        return table._default_manager.filter(**within)
    return longer._default_manager.filter(span_s=stretch.span_s, **within)


def plain_rows(rows: QuerySet[Model, SqlRow]) -> list[SqlRow]:
    """Return rows of numbers and texts as the database gives them: for thousands of them Django's
    look at every value costs more than the query."""
    try:
        statement, values = rows.query.sql_with_params()
    except EmptyResultSet:  # conditions that no row meets, such as to be of one of no keys
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[SqlRow] = cursor.fetchall()
    return found


def _cover(
    start: datetime, end: datetime, spans_s: tuple[int, ...], until: datetime
) -> list[Stretch]:
    if start >= end:
        return []
    if not spans_s:
        return [Stretch(0, start, end)]
    span_s, shorter = spans_s[0], spans_s[1:]
    # A total belongs to the stretch in which it begins, so those of quarters may reach beyond it.
    last = round_up(end, QUARTER_S) if span_s == QUARTER_S else end
    first, last = round_up(start, span_s), round_down(min(last, until), span_s)
    if first >= last:
        return _cover(start, end, shorter, until)
    before = _cover(start, first, shorter, until)
    behind = _cover(last, end, shorter, until)
    return [*before, Stretch(span_s, first, last), *behind]
