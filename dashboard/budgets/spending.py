"""What somebody has spent of what they may: today, this week, this month, in total."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from accounts.models import BudgetHolder
from gateway.selectors.budget_lines import budget_lines
from keys.raises import raises_of

WORDS = {"day": "Today", "week": "This week", "month": "This month", "total": "Total"}
PERIODS = {"day": "Daily", "week": "Weekly", "month": "Monthly", "total": "Total"}


@dataclass(frozen=True, slots=True)
class RaiseRow:
    """A raise in force. words: of which budget. by: who made it."""

    id: str
    words: str
    amount_nusd: int
    until: datetime
    by: str


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """One span of time. limit_nusd: None for no limit. resets_at: None when only people do it."""

    words: str
    spent_nusd: int
    limit_nusd: int | None
    resets_at: datetime | None
    left_nusd: int | None

    @property
    def share(self) -> str:
        """How much of the limit is spent, as the width of a bar."""
        if not self.limit_nusd:
            return "0%"
        return f"{min(100 * self.spent_nusd / self.limit_nusd, 100):.1f}%"

    @property
    def is_used_up(self) -> bool:
        return self.limit_nusd is not None and self.spent_nusd >= self.limit_nusd


def spending_rows(holder: BudgetHolder) -> list[SpendingRow]:
    """Return the spans in which spending is counted, by the ledger as it is now."""
    return [
        SpendingRow(
            WORDS[line.period], line.spent_nusd, line.limit_nusd, line.resets_at, line.left_nusd
        )
        for line in budget_lines(holder, time.time())
    ]


def raise_rows(holder: BudgetHolder) -> list[RaiseRow]:
    """Return the raises in force, those that end first at the beginning."""
    return [
        RaiseRow(one.id, PERIODS[one.period], one.amount_nusd, one.until, one.by)
        for one in raises_of(holder)
    ]
