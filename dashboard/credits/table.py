"""The ledger as a table: by day, or entry by entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from accounts.models import Workspace
from dashboard.credits.rows import DayRow, LedgerRow
from dashboard.http.page_urls import page_address
from dashboard.ui.tables import Column, Empty, Group, Layout, Pager, Shown, Table

TARGET = "ledger"
_DAYS = Layout[DayRow](
    name="line",
    label="Ledger by day, newest first",
    css="name-table",
    cells="dashboard/credits/_day_cells.html",
    columns=(
        Column("by", "Day (UTC), by", grows=True),
        Column("kind", "Kind", shown=Shown.WIDE),
        Column("cause", "For", grows=True, shown=Shown.WIDE),
        Column("entries", "Entries", is_number=True, shown=Shown.WIDER, cell_css="muted"),
        Column("amount", "Amount", is_number=True),
    ),
    row_id=lambda row: row.line.sequence,
)
_ENTRIES = Layout[LedgerRow](
    name="entry",
    label="Ledger entries, newest first",
    cells="dashboard/credits/_entry_cells.html",
    columns=(
        Column("number", "No.", is_number=True, shown=Shown.WIDER, cell_css="muted"),
        Column("time", "Time, UTC", cell_css="nowrap"),
        Column("kind", "Kind", shown=Shown.WIDE),
        Column("cause", "For", grows=True, shown=Shown.WIDE),
        Column("by", "By", grows=True, shown=Shown.WIDER, cell_css="muted"),
        Column("amount", "Amount", is_number=True),
        Column("balance", "Balance", is_number=True, shown=Shown.WIDE, cell_css="muted"),
    ),
    row_id=lambda row: row.entry.sequence,
    opens=False,
)


def day_table(
    groups: Sequence[Group[DayRow]], *, empty: Empty, pager: Pager | None
) -> Table[DayRow]:
    return _DAYS.fill_groups(groups, empty=empty, pager=pager)


def entry_table(
    rows: Sequence[LedgerRow], *, empty: Empty, pager: Pager | None
) -> Table[LedgerRow]:
    return _ENTRIES.fill(rows, empty=empty, pager=pager)


def ledger_pager(
    words: str, *, here: str, asked: Mapping[str, str], newer: int | None, older: int | None
) -> Pager | None:
    """asked: what the links repeat. newer, older: the entries that the pages lie beside."""
    if not newer and not older:
        return None
    return Pager(
        words,
        label="Pages of the ledger",
        target=TARGET,
        newer_url=f"{here}?{urlencode({**asked, 'after': newer})}" if newer else "",
        older_url=f"{here}?{urlencode({**asked, 'before': older})}" if older else "",
    )


def no_usage(workspace: Workspace) -> Empty:
    return Empty(
        icon="wallet",
        title="No entries",
        text="This key has no usage on this day.",
        href=page_address(workspace, "credits"),
        action="View ledger by day",
    )


def no_entries(*, may_grant: bool) -> Empty:
    if not may_grant:
        text = "No entries yet. An operator can grant credit."
        return Empty(icon="wallet", title="No entries", text=text)
    return Empty(
        icon="wallet",
        title="No entries",
        text="Grant credit to this workspace. Calls to paid models are refused until then.",
    )
