"""Totals of calls that began before the mark up to which longer spans have been added up.

Such calls ran for long, or come from the journal of a process that died. Their quarter of an hour
is behind the mark (gateway.services.rolling_up), so hours and days get the same, at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from django.db import connection

from accounts.untyped import SqlValue
from gateway.core.time_spans import DAY_S, HOUR_S, QUARTER_S

_SUMS = ("calls", "prompt_tokens", "completion_tokens", "charge_nusd", "absorbed_nusd")

# (quarter, workspace, key, model, status), and (quarter, workspace, model, measure)
Usage = Iterable[tuple[tuple[int, str, str, str, str], Sequence[int]]]
Latency = Iterable[tuple[tuple[int, str, str, str], Counter[int]]]


def add_usage(
    usage: Usage,
    mark_s: int,
    as_id: Callable[[str], SqlValue],
    as_moment: Callable[[float], SqlValue],
) -> None:
    """Add what lies before the mark to the totals of keys and of workspaces."""
    keys: list[tuple[SqlValue, ...]] = []
    workspaces: list[tuple[SqlValue, ...]] = []
    for (quarter, workspace_id, key_id, model, status), sums in usage:
        workspace = as_id(workspace_id)
        for span_s, start_s in _spans(quarter * QUARTER_S, mark_s):
            place = (span_s, as_moment(start_s), workspace)
            workspaces.append((*place, model, status, *sums))
            if span_s != QUARTER_S:
                keys.append((*place, as_id(key_id), model, status, *sums))
    _add("gateway_keyusage", ("key_id", "model", "status"), _SUMS, keys)
    _add("gateway_workspaceusage", ("model", "status"), _SUMS, workspaces)


def add_latency(
    latency: Latency,
    mark_s: int,
    as_id: Callable[[str], SqlValue],
    as_moment: Callable[[float], SqlValue],
) -> None:
    """Add the durations of what lies before the mark."""
    rows: list[tuple[SqlValue, ...]] = []
    for (quarter, workspace_id, _model, measure), counts in latency:
        workspace = as_id(workspace_id)
        for span_s, start_s in _spans(quarter * QUARTER_S, mark_s):
            place = (span_s, as_moment(start_s), workspace, measure)
            rows += [(*place, bucket, calls) for bucket, calls in counts.items()]
    _add("gateway_workspacelatency", ("measure", "bucket"), ("calls",), rows)


def _spans(start_s: int, mark_s: int) -> list[tuple[int, int]]:
    """Return length and start of each span with the quarter in it that has been added up."""
    if start_s >= mark_s:
        return []
    found = [(QUARTER_S, start_s), (HOUR_S, start_s - start_s % HOUR_S)]
    day_s = start_s - start_s % DAY_S
    return [*found, (DAY_S, day_s)] if day_s + DAY_S <= mark_s else found


def _add(
    table: str, groups: Sequence[str], sums: Sequence[str], rows: list[tuple[SqlValue, ...]]
) -> None:
    if not rows:
        return
    place = ("workspace_id", "span_s", "starts_at", *groups)
    names = ("span_s", "starts_at", "workspace_id", *groups, *sums)
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    statement = (
        f"INSERT INTO {table} ({', '.join(names)}) "  # noqa: S608 (constants only)
        f"VALUES ({', '.join(['%s'] * len(names))}) "
        f"ON CONFLICT ({', '.join(place)}) DO UPDATE SET {added}"
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement, sorted(rows))
