"""Are the totals that pages read the sums of the calls they stand for? Part of `prove`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from gateway.models import LatencyRollup, UsageRollup

QUARTER_MINUTES = 15
# A call's minute as text, then the quarter of an hour is folded here.
MINUTE = {
    "sqlite": "substr(created_at, 1, 16)",
    "postgresql": "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')",
}
Sums = dict[tuple[Any, ...], tuple[int, ...]]
Result = tuple[str, str, int, list[str]]


def check_rollups(most: int) -> Iterator[Result]:
    """Yield id, title, how many groups were compared, and at most so many breaks in words."""
    title = "usage totals are the sums of the calls"
    yield _compare("I13b", title, _summed_usage(), _rolled_usage(), most)
    title = "latency counts cover every call that ended well"
    yield _compare("I13c", title, _summed_latency(), _rolled_latency(), most)


def _compare(check_id: str, title: str, summed: Sums, rolled: Sums, most: int) -> Result:
    breaks = []
    for group in sorted(summed.keys() | rolled.keys(), key=str):
        if summed.get(group) != rolled.get(group):
            told = f"{group}: calls sum up to {summed.get(group)}, totals say {rolled.get(group)}"
            breaks.append(told)
    return check_id, title, len(summed), breaks[:most]


def _summed_usage() -> Sums:
    return _fold(
        f"""
        SELECT {MINUTE[connection.vendor]}, workspace_id, key_id,
               CASE WHEN status = 'refused' THEN '' ELSE model END, status, COUNT(*),
               SUM(prompt_tokens), SUM(completion_tokens), SUM(charge_nusd), SUM(absorbed_nusd)
        FROM gateway_callrecord WHERE status <> 'in_progress' GROUP BY 1, 2, 3, 4, 5
        """,  # noqa: S608 (constants only)
        places=5,
    )


def _summed_latency() -> Sums:
    return _fold(
        f"""
        SELECT {MINUTE[connection.vendor]}, workspace_id, model, COUNT(*), COUNT(*),
               SUM(CASE WHEN streamed AND ttft_us IS NOT NULL THEN 1 ELSE 0 END)
        FROM gateway_callrecord WHERE status = 'ok' GROUP BY 1, 2, 3
        """,  # noqa: S608 (constants only)
        places=3,
    )


def _fold(query: str, *, places: int) -> Sums:
    """Add rows by minute up into rows by quarter. The first column is the minute."""
    sums: Sums = {}
    with connection.cursor() as cursor:
        cursor.execute(query)
        for minute, *rest in cursor.fetchall():
            group = (_quarter_of(minute), *map(_text, rest[: places - 1]))
            so_far = sums.get(group, (0,) * (len(rest) - places + 1))
            added = map(int, rest[places - 1 :])
            sums[group] = tuple(a + b for a, b in zip(so_far, added, strict=True))
    return sums


def _rolled_usage() -> Sums:
    return {
        (row.starts_at, row.workspace_id.hex, row.key_id.hex, row.model, row.status): (
            row.calls,
            row.prompt_tokens,
            row.completion_tokens,
            row.charge_nusd,
            row.absorbed_nusd,
        )
        for row in UsageRollup.objects.iterator()
    }


def _rolled_latency() -> Sums:
    """Return total, added and ttft counts per group, over all buckets."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    order = [measure.value for measure in LatencyRollup.Measure]
    for row in LatencyRollup.objects.iterator():
        group = (row.starts_at, row.workspace_id.hex, row.model)
        sums.setdefault(group, [0, 0, 0])[order.index(row.measure)] += row.calls
    return {group: tuple(counts) for group, counts in sums.items()}


def _quarter_of(minute: str) -> datetime:
    at = datetime.strptime(minute, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return at.replace(minute=at.minute - at.minute % QUARTER_MINUTES)


def _text(value: Any) -> str:
    """Return an id or a name as text, ids alike on both databases."""
    return value.hex if hasattr(value, "hex") and not isinstance(value, str) else str(value)
