"""Entries of the ledger summed by day and key."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime


@dataclass(slots=True, kw_only=True)
class DaySum:
    """What one key used on one day: the columns of LedgerDay."""

    day: date
    key_id: uuid.UUID
    first_sequence: int
    last_sequence: int = 0
    balance_nusd: int = 0
    entries: int = 0
    calls: int = 0
    amount_nusd: int = 0


UsageRow = tuple[int, int, int, uuid.UUID, int, datetime]
USAGE_COLUMNS = ("sequence", "amount_nusd", "balance_nusd", "key_id", "calls", "created_at")


def sum_by_day(rows: Iterable[UsageRow]) -> dict[tuple[date, uuid.UUID], DaySum]:
    """Return the sums by day and key. rows: USAGE_COLUMNS of usage, oldest first."""
    sums: dict[tuple[date, uuid.UUID], DaySum] = {}
    for sequence, amount_nusd, balance_nusd, key_id, calls, created_at in rows:
        day = created_at.astimezone(UTC).date()
        found = sums.get((day, key_id))
        if found is None:
            found = sums[day, key_id] = DaySum(day=day, key_id=key_id, first_sequence=sequence)
        found.last_sequence = sequence
        found.balance_nusd = balance_nusd
        found.entries += 1
        found.calls += calls
        found.amount_nusd += amount_nusd
    return sums
