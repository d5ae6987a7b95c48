"""Where a key, a member or a workspace stands under its budgets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from datetime import datetime

from accounts.limits import has_budget
from accounts.models import BudgetHolder, Membership, Workspace
from gateway.core.budget_owner import BudgetOwner, key_owner, member_owner, workspace_owner
from gateway.core.calendar import calendar_at
from gateway.selectors.spending import spent_by
from gateway.snapshot.types import LimitRaise, SpendingLimits
from keys.models import ApiKey
from keys.raises import raises_of


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One period: day, week, month or total. limit_nusd: as it applies now, raises included; None
    for no limit. resets_at: None for the total, which only people reset. raised_until: when the
    next of its raises ends."""

    period: str
    spent_nusd: int
    limit_nusd: int | None
    resets_at: datetime | None
    _: KW_ONLY
    raised_nusd: int = 0
    raised_until: datetime | None = None

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
        raises=tuple(
            LimitRaise(one.period, one.amount_nusd, one.until.timestamp())
            for one in raises_of(holder)
        ),
    )


def holders_over(key: ApiKey) -> list[Workspace | Membership | ApiKey]:
    """Return those with budgets that calls of the key are charged to, in the order in which they
    refuse: its workspace, its member, the key."""
    members = Membership.objects.filter(workspace=key.workspace_id, user=key.created_by_id)
    holders: list[Workspace | Membership | ApiKey] = [key.workspace]
    holders += [*members.select_related("workspace", "user"), key]
    return [holder for holder in holders if has_budget(holder)]


def budget_lines(holder: BudgetHolder, at: float) -> list[BudgetLine]:
    """Return every period, by the ledger as it is now."""
    limits = limits_of(holder)
    spent = spent_by(limits.owner, at, timezone=limits.timezone)
    calendar = calendar_at(limits.timezone, at)
    lines = []
    for period, limit_nusd, spent_nusd in limits.by_period(spent, at):
        raises = [one for one in raises_of(holder) if one.period == period]
        line = BudgetLine(
            period,
            max(spent_nusd, 0),
            limit_nusd,
            calendar.ends_at(period),
            raised_nusd=sum(one.amount_nusd for one in raises),
            raised_until=raises[0].until if raises else None,
        )
        lines.append(line)
    return lines
