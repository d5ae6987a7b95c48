"""Failed calls by provider and error code, written with the calls, in the same transaction.

Those that began before the mark are left to gateway.services.error_backfill, which moves it and
reads them from the calls themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import connection

from accounts.untyped import SqlValue
from gateway.core.time_spans import DAY_S, HOUR_S, QUARTER_S
from gateway.journal.record import Refused, Settled
from gateway.stores.rows import moment, raw_id, sqlite_moment
from gateway.stores.total_marks import find_mark_s

FAILED = frozenset({"upstream_error", "platform_aborted", "refused"})
_SUMS = (
    "calls = {table}.calls + excluded.calls,"
    " first_at = CASE WHEN excluded.first_at < {table}.first_at"
    " THEN excluded.first_at ELSE {table}.first_at END,"
    " last_at = CASE WHEN excluded.last_at > {table}.last_at"
    " THEN excluded.last_at ELSE {table}.last_at END"
)
_GROUP = ("provider", "status", "error_code")


def statement(table: str, place: Sequence[str]) -> str:
    """Return the statement that adds a row of a table. place: the columns before provider."""
    names = (*place, *_GROUP, "calls", "first_at", "last_at")
    return (
        f"INSERT INTO {table} ({', '.join(names)}) "  # noqa: S608 (constants only)
        f"VALUES ({', '.join(['%s'] * len(names))}) "
        f"ON CONFLICT ({', '.join((*place, *_GROUP))}) DO UPDATE SET {_SUMS.format(table=table)}"
    )


ADD_OF_KEY = statement("gateway_keyerrors", ("workspace_id", "key_id", "starts_at"))
ADD_OF_WORKSPACE = statement("gateway_workspaceerrors", ("workspace_id", "span_s", "starts_at"))


class ErrorTotals:
    """Sums over failed calls, by quarter of an hour."""

    def __init__(self) -> None:
        # (quarter, workspace, key, provider, status, code): calls, first and last moment
        self._sums: dict[tuple[int, str, str, str, str, str], list[float]] = {}

    def count(self, quarter: int, calls: Sequence[Settled]) -> None:
        """Add calls that have ended: of one key and provider, with one status and code."""
        like = calls[0]
        group = (like.served.provider[:60], like.receipt.status, like.error_code[:60])
        moments = [call.at for call in calls]
        self._add((quarter, like.workspace_id, like.key_id, *group), len(calls), moments)

    def count_refused(self, quarter: int, record: Refused) -> None:
        place = (quarter, record.workspace_id, record.key_id)
        group = ("", "refused", record.error_code[:60])
        self._add((*place, *group), record.counted or 1, [record.at])

    def write(self) -> None:
        """Add the sums to the totals, inside the caller's transaction."""
        if not self._sums:
            return
        since_s = find_mark_s("gateway_errormark", "since")
        kept = [item for item in self._sums.items() if item[0][0] * QUARTER_S >= since_s]
        add(kept)

    def _add(
        self, place: tuple[int, str, str, str, str, str], calls: int, moments: Sequence[float]
    ) -> None:
        known = self._sums.setdefault(place, [0, moments[0], moments[0]])
        known[0] += calls
        known[1], known[2] = min(known[1], *moments), max(known[2], *moments)


def add(sums: Sequence[tuple[tuple[int, str, str, str, str, str], Sequence[float]]]) -> None:
    """Add sums by (quarter, workspace, key, provider, status, code) to all totals."""
    is_sqlite = connection.vendor == "sqlite"
    as_id: Callable[[str], SqlValue] = raw_id if is_sqlite else str
    as_moment: Callable[[float], SqlValue] = sqlite_moment if is_sqlite else moment
    keys: list[tuple[SqlValue, ...]] = []
    workspaces: list[tuple[SqlValue, ...]] = []
    # In order, so that two processes on PostgreSQL never wait for each other in a ring.
    for (quarter, workspace_id, key_id, *group), (calls, first, last) in sorted(sums):
        start_s, workspace = quarter * QUARTER_S, as_id(workspace_id)
        row = (*group, calls, as_moment(first), as_moment(last))
        keys.append((workspace, as_id(key_id), as_moment(start_s), *row))
        for span_s in (QUARTER_S, HOUR_S, DAY_S):
            begins = as_moment(start_s - start_s % span_s)
            workspaces.append((workspace, span_s, begins, *row))
    with connection.cursor() as cursor:
        cursor.executemany(ADD_OF_KEY, keys)
        cursor.executemany(ADD_OF_WORKSPACE, sorted(workspaces))
