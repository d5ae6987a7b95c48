"""The list of models as a table."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.selectors.catalogue import ModelRow

MODELS_SHOWN = 200


def _price(name: str, head: str, shown: Shown = Shown.ALWAYS, cell_css: str = "") -> Column:
    return Column(
        name,
        head,
        is_number=True,
        shown=shown,
        cell_css=cell_css,
        suffix=" / 1M",
        suffix_css="wide-only-inline",
    )


_LAYOUT = Layout[ModelRow](
    name="model",
    label="Models",
    css="name-table",
    cells="dashboard/models/_cells.html",
    columns=(
        Column("model", "Model", grows=True),
        Column("state", "State", shown=Shown.WIDE),
        _price("input", "Input"),
        _price("cached", "Cached", Shown.WIDER, "muted"),
        _price("output", "Output"),
        Column("context", "Context", is_number=True, shown=Shown.WIDER),
        Column("max_output", "Max output", is_number=True, shown=Shown.WIDER),
        Column("abilities", "Capabilities", shown=Shown.WIDEST),
    ),
    row_id=lambda row: row.model.pk,
    is_faded=lambda row: row.state != "offered",
)


def model_table(rows: Sequence[ModelRow], *, is_plain: bool) -> Table[ModelRow]:
    """Return the table of the first models. is_plain: the list is not narrowed by anything."""
    shown = rows[:MODELS_SHOWN]
    note = "Prices in USD per million tokens, limits in tokens."
    if len(rows) > MODELS_SHOWN:
        note += f" Showing the first {len(shown)} by name. Search to find others."
    return _LAYOUT.fill(shown, empty=_empty(is_plain=is_plain), note=note)


def _empty(*, is_plain: bool) -> Empty:
    if not is_plain:
        return Empty(
            icon="search-x",
            title="No matching models",
            text="Try another state or provider, or a shorter search.",
            href=reverse("dashboard:model-list"),
            action="Clear filters",
        )
    return Empty(
        icon="boxes",
        title="No models",
        text="A model has a name that callers use, a price, and a provider that serves it.",
    )
