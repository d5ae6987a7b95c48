"""Prices that are more often a slip than meant: 0, and ten times what it was or a tenth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.core.exceptions import ValidationError

from gateway.core.money import format_price
from gateway.core.operations import has_output_tokens
from gateway.core.units import UNITS, Unit, parts_of
from gateway.models import Provider
from gateway.providers.catalogue import SIMULATED

JUMP = 10
_INPUT, _OUTPUT = "input_pusd_per_token", "output_pusd_per_token"
_OF_INPUT = frozenset(unit.price_column for unit in parts_of("prompt"))


class UnusualPrice(ValidationError):
    """A price has to be confirmed. is_free: one of them is 0; is_jump: one is far from before."""

    def __init__(self, free: Mapping[str, str], jumps: Mapping[str, str]) -> None:
        super().__init__({**jumps, **free})
        self.is_free, self.is_jump = bool(free), bool(jumps)


def is_free_to_us(providers: Iterable[Provider]) -> bool:
    """True when calls there cost the installation nothing: simulated, or on its own premises."""
    found = list(providers)
    return bool(found) and all(each.kind == SIMULATED or each.is_local for each in found)


def refuse_unusual(
    prices: Mapping[str, int | None],
    before: Mapping[str, int | None] | None,
    *,
    operation: str,
    may_be_free: bool,
    may_jump: bool,
) -> None:
    """Raise UnusualPrice for prices that nobody has confirmed. Pico-USD per token, by field.

    before: the prices until now, None for a new model; what stays as it is needs no confirmation.
    operation: the one that the model is for alone; output tokens that it cannot have may be free.
    """
    units = {unit.price_column: unit for unit in UNITS.values()}
    free: dict[str, str] = {}
    jumps: dict[str, str] = {}
    for name, price in prices.items():
        old = None if before is None else before[name]
        if price is None or old == price or (name in _OF_INPUT and price == prices[_INPUT]):
            continue  # a price that follows the input's is judged there
        if name in _OF_INPUT and before is not None and old == before[_INPUT]:
            old = None  # it gets a price of its own, which may well be a tenth
        unit = units[name]
        if price == 0 and not may_be_free:
            if name != _OUTPUT or has_output_tokens(operation):
                free[name] = _free(unit)
        elif price and old is not None and not may_jump and _is_jump(old, price):
            jumps[name] = (
                f"This was {format_price(old, unit)} USD: 10 times as much or a tenth is often "
                "a mistake. Confirm the price."
            )
    if free or jumps:
        raise UnusualPrice(free, jumps)


def refuse_free_output(before: str, now: str, price: int, *, may_be_free: bool) -> None:
    """Raise UnusualPrice where a change of the operation makes output tokens free: their price of 0
    needed no confirmation before."""
    if has_output_tokens(now) and not has_output_tokens(before) and not (price or may_be_free):
        raise UnusualPrice({_OUTPUT: _free(UNITS["completion"])}, {})


def _free(unit: Unit) -> str:
    return f"At a price of 0 these {unit.noun} are free. Confirm the price."


def _is_jump(old: int, new: int) -> bool:
    return new >= old * JUMP or new * JUMP <= old
