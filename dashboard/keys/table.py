"""The list of keys as a table."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.models import Workspace
from dashboard.http.page_urls import page_address
from dashboard.keys.rows import KEYS_PER_PAGE, KeyFilters, KeyRow
from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table

_LAYOUT = Layout[KeyRow](
    name="key",
    label="Keys",
    css="name-table",
    cells="dashboard/keys/_cells.html",
    columns=(
        Column("key", "Key", grows=True),
        Column("state", "State"),
        Column("models", "Models", grows=True, shown=Shown.WIDE),
        Column("ips", "Allowed IPs", shown=Shown.WIDER, cell_css="cell-clip"),
        Column("expires", "Expires", shown=Shown.WIDE),
        Column("last_call", "Last call", shown=Shown.WIDE),
        Column("calls", "Calls, 30 d", is_number=True, shown=Shown.WIDER),
        Column("spent", "Spent, 30 d", is_number=True),
    ),
    row_id=lambda row: row.key.pk,
    is_faded=lambda row: not row.key.is_usable,
)


def key_table(
    rows: Sequence[KeyRow],
    filters: KeyFilters,
    workspace: Workspace,
    *,
    older_url: str,
    may_make: bool,
) -> Table[KeyRow]:
    has_pages = older_url or filters.before
    words = f"Newest first, {KEYS_PER_PAGE} per page"
    return _LAYOUT.fill(
        rows,
        empty=_empty(filters, workspace, may_make=may_make),
        pager=Pager(words, older_url=older_url) if has_pages else None,
    )


def _empty(filters: KeyFilters, workspace: Workspace, *, may_make: bool) -> Empty:
    if not filters.is_plain:
        return Empty(
            icon="search-x",
            title="No matching keys",
            text="Try another state or part of a label.",
            href=page_address(workspace, "key-list"),
            action="Clear filters",
        )
    if not may_make:
        return Empty(
            icon="key-round",
            title="No active keys",
            text="Keys let programs call models on this workspace’s credits. Developers, admins"  # noqa: RUF001
            " and owners can create them.",
        )
    return Empty(
        icon="key-round",
        title="No active keys",
        text="A key lets a program call models on this workspace’s credits. You choose its models,"  # noqa: RUF001
        " allowed IPs and expiry.",
    )
