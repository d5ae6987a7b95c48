"""The list of workspaces as a table."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table
from dashboard.workspaces.rows import PER_PAGE, WorkspaceRow

_LAYOUT = Layout[WorkspaceRow](
    name="workspace",
    label="Workspaces",
    cells="dashboard/workspaces/_cells.html",
    columns=(
        Column("workspace", "Workspace"),
        Column("state", "State"),
        Column("members", "Members", is_number=True, shown=Shown.WIDE),
        Column("keys", "Keys", is_number=True, shown=Shown.WIDE),
        Column("created", "Created", shown=Shown.WIDE),
        Column("balance", "Balance", is_number=True),
    ),
    row_id=lambda row: row.workspace.pk,
    is_faded=lambda row: row.workspace.locked_at is not None,
)
_NO_MATCH = Empty(icon="search-x", title="No matching workspaces", text="Try a shorter search.")


def workspace_table(
    rows: Sequence[WorkspaceRow], *, older_url: str, is_first: bool
) -> Table[WorkspaceRow]:
    has_pages = older_url or not is_first
    words = f"Newest first, {PER_PAGE} per page"
    return _LAYOUT.fill(
        rows,
        empty=_NO_MATCH,
        pager=Pager(words, older_url=older_url) if has_pages else None,
    )
