"""The audit log as a table."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.audit_selectors import EVENTS_PER_PAGE
from dashboard.audit.rows import AuditLine
from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table

_LAYOUT = Layout[AuditLine](
    name="audit",
    label="Audit log, newest first",
    cells="dashboard/audit/_cells.html",
    columns=(
        Column("time", "Time", cell_css="nowrap"),
        Column("kind", "Kind", shown=Shown.WIDE),
        Column("action", "Action", css="cell-long"),
        Column("target", "Target", shown=Shown.WIDE),
        Column("actor", "Actor", shown=Shown.WIDER, cell_css="muted"),
    ),
    row_id=lambda line: line.event.pk,
    opens=False,
)
_NO_MATCH = Empty(icon="search-x", title="No matching events", text="Try a shorter search.")
_NONE = Empty(
    icon="scroll-text",
    title="No events yet",
    text="Changes made by people and commands appear here.",
)


def audit_table(
    lines: Sequence[AuditLine], *, is_narrowed: bool, is_first: bool, is_cut: bool, older_url: str
) -> Table[AuditLine]:
    """is_cut: the search stopped before its end, so that what follows is another search."""
    has_pages = not is_cut and (older_url or not is_first)
    words = f"Newest first, {EVENTS_PER_PAGE} per page"
    return _LAYOUT.fill(
        lines,
        empty=None if is_cut else _NO_MATCH if is_narrowed or not is_first else _NONE,
        pager=Pager(words, older_url=older_url) if has_pages else None,
    )
