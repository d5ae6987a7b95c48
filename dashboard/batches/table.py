"""Batches as a table."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.batches.rows import BatchRow
from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table

PER_PAGE = 50
_LAYOUT = Layout[BatchRow](
    name="batch",
    label="Batches, newest first",
    cells="dashboard/batches/_cells.html",
    columns=(
        Column("batch", "Batch", grows=True),
        Column("status", "Status"),
        Column("progress", "Requests", is_number=True, shown=Shown.WIDE),
        Column("key", "Key", shown=Shown.WIDER),
        Column("created", "Created", shown=Shown.WIDE, cell_css="nowrap"),
        Column("results", "Results", shown=Shown.WIDE),
        Column("action", "Action", is_head_hidden=True),
    ),
    row_id=lambda row: row.batch.pk,
    opens=False,
)
_NONE = Empty(
    icon="layers",
    title="No batches yet",
    text="A batch runs the requests of a file in the background. Upload the file with the purpose "
    "batch, then send POST /v1/batches.",
)


def batch_table(rows: Sequence[BatchRow], *, older_url: str, newest_url: str) -> Table[BatchRow]:
    pager = None
    if older_url or newest_url:
        words = f"Newest first, {PER_PAGE} per page"
        pager = Pager(words, older_url=older_url, newest_url=newest_url)
    return _LAYOUT.fill(rows, empty=_NONE, pager=pager)
