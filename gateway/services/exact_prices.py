"""The price of one recorded call, recomputed from its row with exact fractions.

For proofs: written without the code that settles calls, so that a mistake there is not repeated.
"""

from __future__ import annotations

from fractions import Fraction

from gateway.core.units import UNITS
from gateway.models import CallRecord

# What of a row the price and its proof are about.
PRICED_BY = (
    "charge_basis",
    "charge_nusd",
    "absorbed_nusd",
    "hold_nusd",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "input_pusd_per_token",
    "cached_input_pusd_per_token",
    "output_pusd_per_token",
    "units",
    "tool_uses",
    "pdf_pages",
    "pdf_page_nusd",
)


def exact_cost_nusd(call: CallRecord) -> int | None:
    """Return what the record's counts cost at the record's prices, or None when its columns of JSON
    do not say so."""
    try:
        others = {name: (int(one["count"]), int(one["pusd"])) for name, one in _units(call)}
        tools_nusd = sum(int(use["uses"]) * int(use["nusd_each"]) for use in call.tool_uses or ())
    except (KeyError, TypeError, ValueError):
        return None
    if not others.keys() <= UNITS.keys() or any(count < 0 for count, _ in others.values()):
        return None
    used = {
        "prompt": (call.prompt_tokens, call.input_pusd_per_token),
        "cached": (call.cached_tokens, call.cached_input_pusd_per_token),
        "completion": (call.completion_tokens, call.output_pusd_per_token),
        **others,
    }
    exact_nusd = Fraction(_whole_by_whole(used), 1000)
    return round(exact_nusd) + tools_nusd + call.pdf_fee_nusd  # a Fraction rounds half-even


def _units(call: CallRecord) -> list[tuple[str, dict[str, int]]]:
    return list((call.units or {}).items())


def _whole_by_whole(used: dict[str, tuple[int, int]]) -> int:
    """Return the price in pico-USD: of each whole its parts, at their prices, then the rest."""
    pusd = 0
    for name, unit in UNITS.items():
        if unit.part_of or name not in used:
            continue
        left, price_pusd = used[name]
        for part in UNITS.values():
            if part.part_of == name and part.name in used:
                count = min(used[part.name][0], left)
                pusd += count * used[part.name][1]
                left -= count
        pusd += left * price_pusd
    # A part of a whole that nobody has counted is a share of nothing.
    return pusd
