"""What the page of workspaces shows of each: its money, its people, its keys."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from accounts.ledger_selectors import balances_of
from accounts.models import Workspace
from accounts.selectors import count_members
from dashboard.http.page_urls import page_address
from keys.selectors import count_usable_keys

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """A workspace. balance_nusd: what its wallet holds; keys: usable ones; url: its overview."""

    workspace: Workspace
    balance_nusd: int
    members: int
    keys: int
    url: str


def workspace_rows(query: str, *, before: UUID | None) -> tuple[list[WorkspaceRow], UUID | None]:
    """Return one page, newest first, and the id to pass as `before` for the next if there is one.

    query: part of a name or short name.
    """
    found = Workspace.objects.order_by("-id")
    if query:
        found = found.filter(Q(name__icontains=query) | Q(slug__icontains=query))
    if before is not None:
        found = found.filter(pk__lt=before)
    page = list(found[: PER_PAGE + 1])
    shown = page[:PER_PAGE]
    ids = [workspace.pk for workspace in shown]
    balances, members, keys = balances_of(ids), count_members(ids), count_usable_keys(ids)
    rows = [
        WorkspaceRow(
            workspace,
            balance_nusd=balances.get(workspace.pk, 0),
            members=members.get(workspace.pk, 0),
            keys=keys.get(workspace.pk, 0),
            url=page_address(workspace, "overview"),
        )
        for workspace in shown
    ]
    return rows, shown[-1].pk if len(page) > PER_PAGE else None
