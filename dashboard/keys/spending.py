"""What a key has spent of what it may: today, this month, in total."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from gateway.core.spent import end_of_day, end_of_month
from gateway.selectors.key_spending import spent_by
from keys.models import ApiKey


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """One span of time. limit_nusd: None for no limit. resets_at: None when only people do it."""

    words: str
    spent_nusd: int
    limit_nusd: int | None
    resets_at: datetime | None

    @property
    def share(self) -> str:
        """How much of the limit is spent, as the width of a bar."""
        if not self.limit_nusd:
            return "0%"
        return f"{min(100 * self.spent_nusd / self.limit_nusd, 100):.1f}%"

    @property
    def is_used_up(self) -> bool:
        return self.limit_nusd is not None and self.spent_nusd >= self.limit_nusd


def spending_rows(key: ApiKey) -> list[SpendingRow]:
    """Return the spans in which a key's spending is counted, by the ledger as it is now."""
    now = time.time()
    spent = spent_by(key.pk, now)
    since_reset_nusd = max(spent.total_nusd - key.total_baseline_nusd, 0)
    return [
        SpendingRow("Today", spent.day_nusd, key.daily_limit_nusd, end_of_day(now)),
        SpendingRow("This month", spent.month_nusd, key.monthly_limit_nusd, end_of_month(now)),
        SpendingRow("Total", since_reset_nusd, key.total_limit_nusd, None),
    ]
