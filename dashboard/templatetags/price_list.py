"""Prices of the price list, as rows of its tables show them."""

from __future__ import annotations

from django import template

from dashboard.price_list.table import ShownPrice, shown_change, shown_difference
from gateway.providers.catalogue import BY_NAME
from gateway.services.price_list.applying import ModelDifference
from gateway.services.price_list.importing import PriceChange

register = template.Library()


@register.filter
def changed_prices(change: PriceChange) -> list[ShownPrice]:
    return shown_change(change)


@register.filter
def differing_prices(found: ModelDifference) -> list[ShownPrice]:
    return shown_difference(found)


@register.filter
def kind_label(kind: str) -> str:
    """Return what a kind of provider is called."""
    known = BY_NAME.get(kind)
    return known.label if known else kind
