"""Where a key, a member or a workspace stands under its budgets."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from accounts.models import BudgetHolder, Membership, Workspace
from gateway.core.budget_owner import BudgetOwner, key_owner, member_owner, workspace_owner
from gateway.core.calendar import calendar_at
from gateway.selectors.spending import spent_by
from gateway.snapshot.types import SpendingLimits
from keys.models import ApiKey


class BudgetLine(NamedTuple):
    """One period: day, week, month or total. limit_nusd: None for no limit. resets_at: None for the
    total, which only people reset."""

    period: str
    spent_nusd: int
    limit_nusd: int | None
    resets_at: datetime | None

    @property
    def left_nusd(self) -> int | None:
        return None if self.limit_nusd is None else max(self.limit_nusd - self.spent_nusd, 0)


def owner_of(holder: BudgetHolder) -> BudgetOwner:
    """Return whose budget it is. Raises TypeError for what has none."""
    if isinstance(holder, Workspace):
        return workspace_owner(holder.pk)
    if isinstance(holder, Membership):
        return member_owner(holder.user_id, holder.workspace_id)
    if isinstance(holder, ApiKey):
        return key_owner(holder.pk, holder.workspace_id)
    raise TypeError(type(holder).__name__)


def timezone_of(holder: BudgetHolder) -> str:
    """Return the time zone of the holder's workspace."""
    if isinstance(holder, Membership | ApiKey):
        return holder.workspace.timezone
    return holder.timezone if isinstance(holder, Workspace) else "UTC"


def limits_of(holder: BudgetHolder) -> SpendingLimits:
    """Return the budgets of a holder as admission sees them."""
    return SpendingLimits(
        owner=owner_of(holder),
        daily_nusd=holder.daily_limit_nusd,
        weekly_nusd=holder.weekly_limit_nusd,
        monthly_nusd=holder.monthly_limit_nusd,
        total_nusd=holder.total_limit_nusd,
        total_baseline_nusd=holder.total_baseline_nusd,
        timezone=timezone_of(holder),
    )


def budget_lines(holder: BudgetHolder, at: float) -> list[BudgetLine]:
    """Return every period, by the ledger as it is now."""
    limits = limits_of(holder)
    spent = spent_by(limits.owner, at, timezone=limits.timezone)
    calendar = calendar_at(limits.timezone, at)
    return [
        BudgetLine(period, max(spent_nusd, 0), limit_nusd, calendar.ends_at(period))
        for period, limit_nusd, spent_nusd in limits.by_period(spent)
    ]
