"""Compares the prices of models with the price list, and takes listed prices over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.utils import timezone

from gateway.core.units import UNITS, Unit
from gateway.models import LanguageModel, ListPrice
from gateway.services.models import set_prices, update_model
from gateway.services.price_list.package import listed_id

COMMON = ("prompt", "cached", "completion")


@dataclass(frozen=True)
class PriceDifference:
    """A unit's price. Pico-USD for one step of the unit; None: not set, or not listed."""

    unit: Unit
    ours: int | None
    listed: int | None


@dataclass(frozen=True)
class ModelDifference:
    """A model whose prices are not those of the list."""

    model: LanguageModel
    row: ListPrice
    prices: list[PriceDifference]


def current_rows(day: date | None = None) -> dict[tuple[str, str], ListPrice]:
    """Return the price of each listed model that holds on a day (UTC), today if none is given."""
    day = day or timezone.now().date()
    found: dict[tuple[str, str], ListPrice] = {}
    for row in ListPrice.objects.order_by("id"):
        since = row.effective_from or date.min
        key = row.kind, row.model_id
        held = found.get(key)
        if since <= day and (held is None or (held.effective_from or date.min) <= since):
            found[key] = row
    return found


def find_listed(
    kind: str, native_model: str, rows: Mapping[tuple[str, str], ListPrice] | None = None
) -> ListPrice | None:
    """Return what the list says today of a provider's model; None where it says nothing."""
    rows = current_rows() if rows is None else rows
    return rows.get((kind, listed_id(kind, native_model))) if rows else None


def model_differences() -> list[ModelDifference]:
    """Return the models that cost something else than the list says of their first target."""
    rows = current_rows()
    if not rows:
        return []
    models = LanguageModel.objects.order_by("name").prefetch_related("targets__provider")
    compared = [_compare(model, rows) for model in models]
    return [difference for difference in compared if difference is not None]


def take_listed_prices(names: Iterable[str], *, actor: str) -> list[str]:
    """Give models the prices and the context window that the list has for their first target, as
    one change. Returns the names of those that changed.

    Raises LookupError for a model without a listed price, ValidationError as set_prices.
    """
    wanted = set(names)
    changed: list[str] = []
    rows = current_rows()
    with transaction.atomic():
        models = LanguageModel.objects.filter(name__in=wanted).order_by("name")
        for model in models.prefetch_related("targets__provider"):
            row = _row_of(model, rows)
            if row is None:
                raise LookupError(f"The price list has no price for {model.name[:60]!r}.")
            wanted.discard(model.name)
            if _take(model, row, actor):
                changed.append(model.name)
        if wanted:
            raise LookupError(f"The model {min(wanted)[:60]!r} does not exist.")
    return changed


def _take(model: LanguageModel, row: ListPrice, actor: str) -> bool:
    prices: dict[str, int] = row.prices
    input_pusd = prices.get("prompt", 0)
    is_changed = set_prices(
        model,
        input_pusd=input_pusd,
        output_pusd=prices.get("completion", 0),
        cached_input_pusd=prices.get("cached"),
        unit_prices={name: pusd for name, pusd in prices.items() if name not in COMMON},
        actor=actor,
        # Who takes prices from a list has seen them.
        may_be_free=True,
        may_jump=True,
    )
    if row.context_tokens is None or row.context_tokens == model.context_tokens:
        return is_changed
    return update_model(model, context_tokens=row.context_tokens, actor=actor) or is_changed


def _row_of(model: LanguageModel, rows: Mapping[tuple[str, str], ListPrice]) -> ListPrice | None:
    targets = list(model.targets.all())
    if not targets:
        return None
    return find_listed(targets[0].provider.kind, targets[0].native_model, rows)


def _compare(
    model: LanguageModel, rows: Mapping[tuple[str, str], ListPrice]
) -> ModelDifference | None:
    row = _row_of(model, rows)
    if row is None:
        return None
    listed: dict[str, int] = {"prompt": 0, "completion": 0, **row.prices}
    listed.setdefault("cached", listed["prompt"])
    prices = [
        PriceDifference(UNITS[name], getattr(model, UNITS[name].price_column), pusd)
        for name, pusd in listed.items()
    ]
    differing = [price for price in prices if price.ours != price.listed]
    return ModelDifference(model, row, differing) if differing else None
