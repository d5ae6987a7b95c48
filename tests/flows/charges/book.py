"""What a provider's book says that a call costs, in integers and apart from the product's sums."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

PUSD_PER_NUSD = 1_000
Counts = dict[str, int]
# Pico-USD for one step of each unit.
Prices = Mapping[str, int]
# The entry's field of each unit (tests.fakes.book).
FIELDS = {
    "prompt": "prompt_tokens",
    "cached": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "completion": "completion_tokens",
    "image": "images",
    "search": "searches",
    # In milliseconds.
    "second": "sound_ms",
    "character": "characters",
    "research": "research_tokens",
}
# Shares that are not charged at the price of their whole.
PARTS = {"prompt": ("cached", "cache_write", "cache_write_1h"), "completion": ("research",)}
# The highest price of each unit: all that a hundred calls use is well below the credit.
HIGHEST_PUSD = {
    "prompt": 3_000_000,
    "cached": 300_000,
    "cache_write": 4_000_000,
    "cache_write_1h": 6_000_000,
    "completion": 15_000_000,
    "image": 40_000_000_000,
    "search": 2_000_000_000,
    "second": 1_000_000,
    "character": 30_000_000,
    "research": 6_000_000,
}


def random_prices(dice: random.Random, priced: Collection[str] = tuple(FIELDS)) -> Prices:
    """Return a price for each unit, which is 0 for those that have none. Hardly any other is a
    whole number of nano-USD, and many end in half of one, so that sums have to be rounded, and lie
    in the middle."""
    prices = {
        unit: dice.randrange(1, highest // 500) * 500 + dice.choice((0, 0, 1, 137))
        for unit, highest in HIGHEST_PUSD.items()
    }
    return {unit: price if unit in priced else 0 for unit, price in prices.items()}


def counts_of(*entries: Mapping[str, Any]) -> Counts:
    """Return what the provider has counted for the requests of one try."""
    counts = {unit: sum(int(one[name]) for one in entries) for unit, name in FIELDS.items()}
    counts["cache_write"] -= counts["cache_write_1h"]
    return counts


def price_nusd(counts: Mapping[str, int], prices: Prices) -> int:
    """Return what the counts cost in nano-USD, rounded once, half to even as Fraction rounds."""
    charged = dict(counts)
    for whole, parts in PARTS.items():
        charged[whole] = counts.get(whole, 0) - sum(counts.get(part, 0) for part in parts)
    assert min(charged.values()) >= 0, counts
    pusd = sum(count * prices[unit] for unit, count in charged.items())
    return round(Fraction(pusd, PUSD_PER_NUSD))
