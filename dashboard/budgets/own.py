"""The budgets that bind a member, as the member sees them: their own, the workspace's, and those of
their keys."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.limits import HAS_BUDGET, has_budget
from accounts.models import Membership, User, Workspace
from dashboard.budgets.spending import RaiseRow, SpendingRow, raise_rows, spending_rows
from dashboard.http.page_urls import page_address
from dashboard.key_policy.limits_text import budget_words
from keys.models import ApiKey
from keys.raises import Holder

KEYS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBudget:
    """title: whose. words: instead of rows, where what is spent is not shown to this person.
    url: of more about it; empty for none."""

    title: str
    words: list[str]
    rows: list[SpendingRow]
    raises: list[RaiseRow]
    url: str


def own_budgets(person: User, workspace: Workspace, *, sees_workspace: bool) -> list[OwnBudget]:
    """Return what there is. sees_workspace: also what the workspace has spent."""
    found = []
    for member in Membership.objects.filter(workspace=workspace, user=person):
        member.workspace = workspace
        url = page_address(workspace, "member-budget", member.pk)
        if has_budget(member):
            found.append(_shown(member, "All your keys", url))
    if has_budget(workspace):
        found.append(_shown(workspace, "Workspace", "", shows_spent=sees_workspace))
    keys = ApiKey.objects.usable().filter(HAS_BUDGET, workspace=workspace, created_by=person)
    for key in keys.select_related("workspace").order_by("-pk")[:KEYS_SHOWN]:
        found.append(_shown(key, key.label, page_address(workspace, "key-edit", key.pk)))
    return found


def _shown(holder: Holder, title: str, url: str, *, shows_spent: bool = True) -> OwnBudget:
    rows = spending_rows(holder) if shows_spent else []
    return OwnBudget(
        title=title,
        words=[] if shows_spent else budget_words(holder),
        rows=[row for row in rows if row.limit_nusd is not None],
        raises=raise_rows(holder),
        url=url,
    )
