"""The keys that an import would make, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.key_policy.limits_text import limit_words
from dashboard.ui.tables import Column, Layout, Shown, Table
from keys.import_rows import ImportRow
from keys.models import ApiKey

ROWS_SHOWN = 100


@dataclass(frozen=True)
class NewKeyRow:
    """A key that would be made. secret: how people know it. limits: in words."""

    row: ImportRow
    secret: str
    limits: list[str]


_LAYOUT = Layout[NewKeyRow](
    name="new-key",
    label="Keys to be imported",
    cells="dashboard/key_import/_cells.html",
    columns=(
        Column("line", "Line", is_number=True, shown=Shown.WIDE, cell_css="muted"),
        Column("key", "Key", grows=True),
        Column("owner", "Owner", shown=Shown.WIDE),
        Column("models", "Models", grows=True, shown=Shown.WIDE),
        Column("ips", "Allowed IPs", shown=Shown.WIDER),
        Column("expires", "Expires"),
        Column("limits", "Limits", grows=True, shown=Shown.WIDER),
    ),
    opens=False,
)


def new_key_table(fresh: Sequence[ImportRow]) -> Table[NewKeyRow]:
    """Return the table of the first of them."""
    shown = [
        NewKeyRow(row, ApiKey(**row.kept._asdict()).shown_secret, limit_words(row.limits))
        for row in fresh[:ROWS_SHOWN]
    ]
    is_cut = len(fresh) > len(shown)
    return _LAYOUT.fill(shown, note=f"The first {len(shown)} of {len(fresh):,}." if is_cut else "")
