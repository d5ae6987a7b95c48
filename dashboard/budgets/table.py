"""The budgets of a workspace, its members and its keys as a table."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.limits import HAS_BUDGET
from accounts.models import Membership, User, Workspace
from accounts.permissions import Action, may, roles_given_by
from accounts.selectors import members_of
from dashboard.budgets.spending import RaiseRow, raise_rows
from dashboard.http.page_urls import page_address
from dashboard.key_policy.limits_text import budget_words
from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.selectors.budget_lines import holders_over, owner_of
from keys.models import ApiKey
from keys.raises import Holder

# Of members, and of keys.
SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """words: a line for each budget. url: of the page of these budgets; empty for those who may not
    view it."""

    id: str
    holder: str
    words: list[str]
    raises: list[RaiseRow]
    url: str


@dataclass(frozen=True, slots=True)
class OuterBudget:
    """Budgets that calls of a key are charged to besides the key's own. words: in a line."""

    words: str
    holder: str


_LAYOUT = Layout[BudgetRow](
    name="budget",
    label="Budgets",
    cells="dashboard/budgets/_cells.html",
    columns=(
        Column("holder", "For", grows=True),
        Column("budgets", "Budgets", cell_css="nowrap"),
        Column("raises", "Raised", shown=Shown.WIDER),
        Column("actions", "Actions", is_head_hidden=True, cell_css="num"),
    ),
    row_id=lambda row: row.id,
    opens=False,
)


def budget_table(workspace: Workspace, person: User, query: str) -> Table[BudgetRow]:
    """Return the budgets that are set, and the workspace's in any case.

    query: part of an email address or of a key's label; then the workspace is left out.
    """
    members = members_of(workspace).filter(HAS_BUDGET, user__email__icontains=query)
    keys = ApiKey.objects.usable().filter(HAS_BUDGET, workspace=workspace, label__icontains=query)
    viewer = _Viewer.of(person, workspace)
    found: list[list[Membership] | list[ApiKey]] = [
        list(members[: SHOWN + 1]),
        list(keys.order_by("label", "pk")[: SHOWN + 1]),
    ]
    more = f"Showing the first {SHOWN} members and {SHOWN} keys. Search to find others."
    shown: list[Holder] = [] if query else [workspace]
    shown += [holder for some in found for holder in some[:SHOWN]]
    return _LAYOUT.fill(
        [viewer.row(holder) for holder in shown],
        empty=Empty(icon="search-x", title="No matching budgets", text="Try a shorter search."),
        note=more if any(len(some) > SHOWN for some in found) else "",
    )


def budgets_over(key: ApiKey) -> list[OuterBudget]:
    """Return the budgets of the key's workspace and of its member, where there are any."""
    return [
        OuterBudget(
            " · ".join(budget_words(holder)),
            holder.user.email if isinstance(holder, Membership) else "Workspace",
        )
        for holder in holders_over(key)
        if not isinstance(holder, ApiKey)
    ]


@dataclass(frozen=True, slots=True)
class _Viewer:
    """Who looks. given: the roles that they may give; their holders' budgets are theirs to set."""

    person: User
    workspace: Workspace
    manages_workspace: bool
    manages_keys: bool
    given: frozenset[str]

    @classmethod
    def of(cls, person: User, workspace: Workspace) -> _Viewer:
        return cls(
            person,
            workspace,
            may(person, Action.MANAGE_WORKSPACE, workspace),
            may(person, Action.MANAGE_KEYS, workspace),
            roles_given_by(person, workspace),
        )

    def row(self, holder: Holder) -> BudgetRow:
        if isinstance(holder, Workspace):
            url, words = page_address(holder, "settings-budget"), "Workspace"
            may_open = self.manages_workspace
        elif isinstance(holder, Membership):
            url, words = self._address("member-budget", holder.pk), holder.user.email
            may_open = holder.user_id == self.person.pk or holder.role in self.given
        else:
            url, words = self._address("key-budget", holder.pk), holder.label
            may_open = self.manages_keys
        return BudgetRow(
            id=owner_of(holder).id,
            holder=words,
            words=budget_words(holder),
            raises=raise_rows(holder),
            url=url if may_open else "",
        )

    def _address(self, page: str, holder_id: object) -> str:
        return page_address(self.workspace, page, holder_id)
