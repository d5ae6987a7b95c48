"""Are the totals of hours and days the sums of those of the quarters of an hour? Rules of `prove`.

Only up to the mark of gateway.services.rolling_up: behind it there are none yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import connection

from gateway.core.time_spans import (
    DAY_S,
    FAR_AHEAD,
    HOUR_S,
    LONG_AGO,
    QUARTER_S,
    round_down,
    round_up,
)
from gateway.models import RollupMark
from gateway.services.invariants import Invariant

_SUMS = ("calls", "prompt_tokens", "completion_tokens", "charge_nusd", "absorbed_nusd")
_KEYS = ("workspace_id", "key_id", "model", "status")
_WORKSPACES = ("workspace_id", "model", "status")
_DURATIONS = ("workspace_id", "measure", "bucket")
_QUARTERS = "gateway_usagerollup"
_OF_KEYS, _OF_WORKSPACES = "gateway_keyusage", "gateway_workspaceusage"
_DURATIONS_OF_QUARTERS, _DURATIONS_OF_SPANS = "gateway_latencyrollup", "gateway_workspacelatency"

SPANS_S = (QUARTER_S, HOUR_S, DAY_S)


def total_rules(
    since: datetime | None, until: datetime | None = None, *, spans_s: Sequence[int] = SPANS_S
) -> tuple[Invariant, ...]:
    """Return the rules for the spans that lie between the moments, None: for all there are."""
    row = RollupMark.objects.first()
    mark = LONG_AGO if row is None else row.until
    start, end = since or LONG_AGO, until or FAR_AHEAD
    hours = _Stretch(HOUR_S, round_up(start, HOUR_S), round_down(end, HOUR_S), mark, spans_s)
    full_days = round_up(start, DAY_S), round_down(end, DAY_S), round_down(mark, DAY_S)
    days = _Stretch(DAY_S, *full_days, spans_s)
    quarters = _Stretch(QUARTER_S, hours.start, hours.end, mark, spans_s)
    counted = hours if HOUR_S in spans_s else days
    return (
        _rule(
            "I13d",
            "totals of keys per hour and day are the sums of their quarters",
            f"SELECT COUNT(*) FROM {counted.found(_OF_KEYS)}",  # noqa: S608
            (_KEYS, _SUMS),
            [
                *hours.sides(_QUARTERS, 0, _OF_KEYS, _KEYS, _SUMS),
                *days.sides(_OF_KEYS, HOUR_S, _OF_KEYS, _KEYS, _SUMS),
            ],
        ),
        _rule(
            "I13e",
            "totals of workspaces are the sums of their keys'",
            f"SELECT COUNT(*) FROM {counted.found(_OF_WORKSPACES)}",  # noqa: S608
            (_WORKSPACES, _SUMS),
            [
                *quarters.sides(_QUARTERS, 0, _OF_WORKSPACES, _WORKSPACES, _SUMS),
                *hours.sides(_OF_KEYS, HOUR_S, _OF_WORKSPACES, _WORKSPACES, _SUMS),
                *days.sides(_OF_KEYS, DAY_S, _OF_WORKSPACES, _WORKSPACES, _SUMS),
            ],
        ),
        _rule(
            "I13f",
            "latency counts of workspaces are the sums of their models'",
            f"SELECT COUNT(*) FROM {counted.found(_DURATIONS_OF_SPANS)}",  # noqa: S608
            (_DURATIONS, ("calls",)),
            [
                *quarters.sides(
                    _DURATIONS_OF_QUARTERS, 0, _DURATIONS_OF_SPANS, _DURATIONS, ("calls",)
                ),
                *hours.sides(
                    _DURATIONS_OF_SPANS, QUARTER_S, _DURATIONS_OF_SPANS, _DURATIONS, ("calls",)
                ),
                *days.sides(
                    _DURATIONS_OF_SPANS, HOUR_S, _DURATIONS_OF_SPANS, _DURATIONS, ("calls",)
                ),
            ],
        ),
    )


class _Stretch:
    """Totals of span_s from start up to end, which are there up to the mark alone.

    asked: the spans that are to be compared.
    """

    def __init__(
        self, span_s: int, start: datetime, end: datetime, mark: datetime, asked: Sequence[int]
    ) -> None:
        self.span_s, self.start, self.end = span_s, start, end
        self._until = min(end, mark)
        self._is_asked = span_s in asked

    def found(self, table: str) -> str:
        return _within(table, self.span_s, self.start, self.end)

    def sides(
        self,
        source: str,
        source_span_s: int,
        target: str,
        groups: tuple[str, ...],
        sums: tuple[str, ...],
    ) -> list[str]:
        """Return the queries for what is added up, and for the totals of it, negative."""
        if not self._is_asked:
            return []
        grouped = ", ".join(f"r.{name}" for name in groups)
        added = ", ".join(f"r.{name}" for name in sums)
        less = ", ".join(f"-r.{name}" for name in sums)
        begin = _begin_of(self.span_s, connection.vendor)
        return [
            f"SELECT {self.span_s} AS span_s, {begin} AS began, {grouped}, {added} "  # noqa: S608
            f"FROM {_within(source, source_span_s, self.start, self._until)}",
            f"SELECT {self.span_s}, r.starts_at, {grouped}, {less} FROM {self.found(target)}",  # noqa: S608
        ]


def _rule(
    name: str,
    title: str,
    count: str,
    columns: tuple[tuple[str, ...], tuple[str, ...]],
    sides: list[str],
) -> Invariant:
    groups, sums = columns
    shown = " || ' ' || ".join(groups)
    differences = " || ', ' || ".join(f"SUM({column})" for column in sums)
    breaks = f"""
        SELECT began || ' for ' || span_s || ' s, ' || {shown} || ': off by ' || {differences}
        FROM ({" UNION ALL ".join(sides)}) both_sides
        GROUP BY span_s, began, {", ".join(groups)}
        HAVING {" OR ".join(f"SUM({column}) <> 0" for column in sums)}
    """  # noqa: S608 (constants only)
    return Invariant(name, title, count, breaks)


def _within(table: str, span_s: int, start: datetime, end: datetime) -> str:
    """Return the rows of a table, found workspace by workspace. span_s: 0 for the drain's own."""
    only = f" AND r.span_s = {span_s}" if span_s else ""
    return (
        f"accounts_workspace w CROSS JOIN {table} r WHERE r.workspace_id = w.id{only}"
        f" AND r.starts_at >= {_literal(start)} AND r.starts_at < {_literal(end)}"
    )


def _begin_of(span_s: int, vendor: str) -> str:
    """Return SQL for the begin of the span that a total's own begin lies in."""
    if span_s == QUARTER_S:
        return "r.starts_at"
    if vendor == "sqlite":
        kept, rest = (11, "00:00:00") if span_s == DAY_S else (14, "00:00")
        return f"substr(r.starts_at, 1, {kept}) || '{rest}'"
    return f"date_trunc('{'day' if span_s == DAY_S else 'hour'}', r.starts_at, 'UTC')"


def _literal(moment: datetime) -> str:
    return f"'{moment:%Y-%m-%d %H:%M:%S}{'' if connection.vendor == 'sqlite' else '+00'}'"
