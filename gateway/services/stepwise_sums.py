"""Calls and the totals of their quarters of an hour, added up against each other part by part.

For gateway.services.stepwise_proof: calls add to their group, the totals of a quarter that is
complete are subtracted, and what comes to nothing is forgotten. Rows that are out of their order
find their counterpart all the same; what is left at the end does not add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from django.db import connection

from accounts.untyped import SqlRow
from gateway.services.rollup_rules import quarter_of_calls

Groups = dict[str, list[int]]

# Group, then sums. What calls add, and what totals take off again.
USAGE = (
    "SELECT {quarter}, workspace_id, key_id, CASE WHEN status = 'refused' THEN '' ELSE model END,"
    " status, SUM(counted_calls), SUM(prompt_tokens), SUM(completion_tokens), SUM(charge_nusd),"
    " SUM(absorbed_nusd) FROM calls WHERE status <> 'in_progress' GROUP BY 1, 2, 3, 4, 5"
)
LATENCY = (
    "SELECT {quarter}, workspace_id, model, COUNT(*), COUNT(*),"
    " SUM(CASE WHEN streamed AND ttft_us IS NOT NULL THEN 1 ELSE 0 END)"
    " FROM calls WHERE status = 'ok' GROUP BY 1, 2, 3"
)
_ROLLED_USAGE = (
    "SELECT r.starts_at, r.workspace_id, r.key_id, r.model, r.status, -r.calls, -r.prompt_tokens,"
    " -r.completion_tokens, -r.charge_nusd, -r.absorbed_nusd"
    " FROM accounts_workspace w CROSS JOIN gateway_usagerollup r"
    " WHERE r.workspace_id = w.id AND r.starts_at >= %s AND r.starts_at < %s"
)
_ROLLED_LATENCY = (
    "SELECT r.starts_at, r.workspace_id, r.model,"
    " SUM(CASE WHEN r.measure = 'total' THEN -r.calls ELSE 0 END),"
    " SUM(CASE WHEN r.measure = 'added' THEN -r.calls ELSE 0 END),"
    " SUM(CASE WHEN r.measure = 'ttft' THEN -r.calls ELSE 0 END)"
    " FROM accounts_workspace w CROSS JOIN gateway_latencyrollup r"
    " WHERE r.workspace_id = w.id AND r.starts_at >= %s AND r.starts_at < %s GROUP BY 1, 2, 3"
)


def question(of: str) -> str:
    """Return the question about `calls`: USAGE or LATENCY."""
    return of.format(quarter=quarter_of_calls())


def whole(rows: Iterable[SqlRow]) -> list[SqlRow]:
    """Return the rows with whole numbers: PostgreSQL's sums of 64-bit numbers are decimals."""
    return [tuple(int(each) if isinstance(each, Decimal) else each for each in row) for row in rows]


def add(groups: Groups, rows: Iterable[SqlRow], columns: int) -> int:
    """Add rows of so many columns that name a group, then sums. Return how many calls they are."""
    calls = 0
    for row in rows:
        name = " ".join(map(str, row[:columns]))
        sums = groups.get(name)
        if sums is None:
            groups[name] = list(row[columns:])
        else:
            sums[:] = [one + other for one, other in zip(sums, row[columns:], strict=True)]
        calls += row[columns]
    return calls


def take_off(usage: Groups, latency: Groups, since: datetime, until: datetime) -> tuple[int, int]:
    """Take off the totals of these quarters; return how many rows of usage, how many calls of
    durations that were."""
    adapt = connection.ops.adapt_datetimefield_value
    moments = [adapt(since), adapt(until)]
    with connection.cursor() as cursor:
        cursor.execute(_ROLLED_USAGE, moments)
        rows = whole(cursor.fetchall())
        add(usage, rows, 5)
        cursor.execute(_ROLLED_LATENCY, moments)
        calls = -add(latency, whole(cursor.fetchall()), 3)
    for groups in (usage, latency):
        for name in [name for name, sums in groups.items() if not any(sums)]:
            del groups[name]
    return len(rows), calls
