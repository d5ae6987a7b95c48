"""The server processes of all hosts, and journals that were declared lost, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.models import JournalLoss
from gateway.selectors.processes import ProcessRow

_PROCESSES = Layout[ProcessRow](
    name="process",
    label="Server processes",
    cells="dashboard/hosts/_cells.html",
    css="name-table",
    columns=(
        Column("host", "Host", grows=True),
        Column("state", "State"),
        Column("started", "Started", shown=Shown.WIDER),
        Column("calls", "Open calls", is_number=True, shown=Shown.WIDE),
        Column("held", "Held", is_number=True, shown=Shown.WIDER, title="Held by the open calls"),
        Column(
            *("reserved", "Reserved"),
            is_number=True,
            shown=Shown.WIDE,
            title="What the process has drawn from wallets, including what is held",
        ),
        Column("action", "Action", is_head_hidden=True),
    ),
    row_id=lambda row: row.process.pk,
    opens=False,
)
_LOSSES = Layout[JournalLoss](
    name="loss",
    label="Journals declared lost",
    cells="dashboard/hosts/_loss_cells.html",
    columns=(
        Column("host", "Host", grows=True),
        Column("declared", "Declared lost"),
        Column("calls", "Open calls", is_number=True, shown=Shown.WIDE),
        Column("most", "Maximum cost", is_number=True),
        Column("returned", "Journal found", shown=Shown.WIDE),
    ),
    row_id=lambda loss: loss.process_id,
    opens=False,
)
_NONE = Empty(
    icon="server",
    title="No server processes",
    text="Server processes appear here when they start. Run make up.",
)


def process_table(rows: Sequence[ProcessRow]) -> Table[ProcessRow]:
    return _PROCESSES.fill(rows, empty=_NONE)


def loss_table(losses: Sequence[JournalLoss]) -> Table[JournalLoss]:
    return _LOSSES.fill(losses)
