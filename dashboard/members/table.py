"""The list of members as a table."""

from __future__ import annotations

from dashboard.members.rows import MemberRow, MemberRows
from dashboard.ui.tables import Column, Empty, Layout, Shown, Table

_USE = ("keys", "calls", "spent")
_LAYOUT = Layout[MemberRow](
    name="member",
    label="Members",
    cells="dashboard/members/_cells.html",
    css="name-table",
    columns=(
        Column("member", "Member", grows=True),
        Column("role", "Role", shown=Shown.WIDE),
        Column("since", "Since", shown=Shown.WIDER),
        Column("keys", "Keys", is_number=True, shown=Shown.WIDER),
        Column("calls", "Calls, 30 d", is_number=True, shown=Shown.WIDER),
        Column("spent", "Spent, 30 d", is_number=True, shown=Shown.WIDE),
        Column("actions", "Actions", is_head_hidden=True, cell_css="num"),
    ),
    row_id=lambda row: row.membership.pk,
)


def member_table(found: MemberRows, query: str, *, given: frozenset[str]) -> Table[MemberRow]:
    """given: the roles that the person who looks may give."""
    more = f"{found.more:,} more members. Search by name or email to find them."
    return _LAYOUT.fill(
        found.rows,
        without=() if found.shows_use else _USE,
        empty=_empty(query),
        note=more if found.more else "",
        values={"given": given},
    )


def _empty(query: str) -> Empty:
    if query:
        return Empty(icon="search-x", title="No matching members", text="Try a shorter search.")
    return Empty(
        icon="users",
        title="No members yet",
        text="Only operators can see this workspace. Invite its owner first.",
    )
