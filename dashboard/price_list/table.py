"""The tables of the price list: what an import changes, and models with other prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.core.money import format_price
from gateway.core.units import UNITS, Unit
from gateway.services.price_list.applying import ModelDifference
from gateway.services.price_list.importing import ImportPlan, PriceChange

CHANGES_SHOWN = 100
# As the form of a model has them.
_LABELS = {"prompt": "Input", "cached": "Cached input", "completion": "Output"}

_CHANGES = Layout[PriceChange](
    name="price-change",
    cells="dashboard/price_list/_change_cells.html",
    css="name-table",
    columns=(
        Column("model", "Model", grows=True),
        Column("kind", "Provider", shown=Shown.WIDE),
        Column("prices", "Prices"),
        Column("context", "Context", is_number=True, shown=Shown.WIDE),
    ),
    opens=False,
)
_DIFFERENCES = Layout[ModelDifference](
    name="price-difference",
    cells="dashboard/price_list/_difference_cells.html",
    css="name-table",
    columns=(
        Column("take", "Use", is_head_hidden=True),
        Column("model", "Model", grows=True),
        Column("listed", "Listed as", shown=Shown.WIDE),
        Column("prices", "Prices"),
    ),
    opens=False,
)


@dataclass(frozen=True)
class ShownPrice:
    """A unit's price in USD as people read it. before: empty where there is none."""

    label: str
    before: str
    after: str


def change_table(plan: ImportPlan) -> Table[PriceChange]:
    """Return the first changes; those of known prices first, since they matter more."""
    changes = sorted(plan.changes, key=lambda change: change.before is None)
    note = ""
    if len(changes) > CHANGES_SHOWN:
        first = f"Showing {CHANGES_SHOWN} of {len(changes):,} changes."
        note = f"{first} manage.py import_prices --json lists all."
    return _CHANGES.fill(changes[:CHANGES_SHOWN], empty=_up_to_date(plan.source), note=note)


def difference_table(found: Sequence[ModelDifference]) -> Table[ModelDifference]:
    return _DIFFERENCES.fill(found, empty=_NONE_DIFFERENT)


def shown_change(change: PriceChange) -> list[ShownPrice]:
    """Return the prices of a change."""
    before: Mapping[str, int] = change.before.prices if change.before is not None else {}
    return list(_pair(before, change.after.prices))


def shown_difference(found: ModelDifference) -> list[ShownPrice]:
    """Return the prices of a model beside those of the list."""
    return [
        ShownPrice(
            _label(price.unit),
            "" if price.ours is None else format_price(price.ours, price.unit),
            "" if price.listed is None else format_price(price.listed, price.unit),
        )
        for price in found.prices
    ]


def _label(unit: Unit) -> str:
    return _LABELS.get(unit.name, unit.label)


def _pair(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[ShownPrice]:
    for name, unit in UNITS.items():
        if name in before or name in after:
            old, new = (
                format_price(prices[name], unit) if name in prices else ""
                for prices in (before, after)
            )
            yield ShownPrice(_label(unit), "" if old == new else old, new)


def _up_to_date(source: str) -> Empty:
    return Empty(
        icon="circle-check",
        title="The price list is imported",
        text=f"{source} has no changes. Newer versions of Tollhouse have newer prices.",
    )


_NONE_DIFFERENT = Empty(
    icon="circle-check",
    title="No differences",
    text="All listed models have the listed prices, or nothing has been imported yet.",
)
