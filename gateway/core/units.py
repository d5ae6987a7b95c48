"""What can be metered and priced, a row each.

To add a unit, add a row here and a nullable price column to the model's table by a migration. The
provider's adapter reports its count in `Usage.others`. Settling, the journal, the proofs, the
commands and the pages work through this table.

Counts and prices are integers: a price is pico-USD for one step of the count. A part is a share of
its whole that may have a price of its own, and is then not charged at the price of the whole.

Where no price is set, a part costs what its whole costs, or the part that it is priced as, and a
unit that is no part costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache

PUSD_PER_USD = 10**12


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a call can use."""

    # Names it in records, in the API and in commands.
    name: str
    # On pages; that of a part stands behind that of its whole.
    label: str
    _: KW_ONLY
    # What is counted, in the plural.
    noun: str = "tokens"
    # The field of gateway.models.LanguageModel with its price; empty: it costs what its whole does.
    price_column: str = ""
    # The unit that it is a share of; empty: it is a whole.
    part_of: str = ""
    # The part whose price a part has while none of its own is set; empty: that of its whole.
    priced_as: str = ""
    # A count is an integer of steps of 10**-decimals: seconds with 3 decimals are milliseconds.
    decimals: int = 0
    # People give and read the price for so many steps, which are called so.
    price_steps: int = 1_000_000
    price_noun: str = "million tokens"
    # Its member in the details of the usage object of OpenAI's API; empty: it is not there.
    usage_detail: str = ""

    @property
    def pusd_per_shown_usd(self) -> int:
        """Return what a price of 1 USD, as people give it, is in pico-USD for one step."""
        return PUSD_PER_USD // self.price_steps

    def format_count(self, count: int) -> str:
        """Return a count as people read it, with thousands separators."""
        if not self.decimals:
            return f"{count:,}"
        whole, rest = divmod(count, 10**self.decimals)
        return f"{whole:,}.{rest:0{self.decimals}d}".rstrip("0").rstrip(".")


# Prompt tokens written to a provider's cache: those that it keeps for an hour are counted apart.
CACHE_WRITE, CACHE_WRITE_1H = "cache_write", "cache_write_1h"
UNITS: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Unit("prompt", "Prompt", price_column="input_pusd_per_token"),
        Unit(
            "cached",
            "Cached",
            price_column="cached_input_pusd_per_token",
            part_of="prompt",
            usage_detail="cached_tokens",
        ),
        Unit(
            CACHE_WRITE,
            "Cache writes",
            price_column="cache_write_pusd_per_token",
            part_of="prompt",
            usage_detail="cache_write_tokens",
        ),
        # https://platform.claude.com/docs/en/build-with-claude/prompt-caching
        Unit(
            CACHE_WRITE_1H,
            "Cache writes for 1 hour",
            price_column="cache_write_1h_pusd_per_token",
            part_of="prompt",
            priced_as=CACHE_WRITE,
        ),
        Unit("completion", "Completion", price_column="output_pusd_per_token"),
        Unit("reasoning", "Reasoning", part_of="completion", usage_detail="reasoning_tokens"),
        # What models think while they search, where it has a price of its own:
        # https://docs.perplexity.ai/getting-started/pricing
        Unit(
            "research",
            "Research",
            price_column="research_pusd_per_token",
            part_of="completion",
        ),
        Unit(
            "image",
            "Images",
            noun="images",
            price_column="image_pusd",
            price_steps=1,
            price_noun="image",
        ),
        Unit(
            "second",
            "Audio",
            noun="seconds",
            price_column="second_pusd_per_ms",
            decimals=3,
            price_steps=1_000,
            price_noun="second",
        ),
        Unit(
            "character",
            "Characters",
            noun="characters",
            price_column="character_pusd",
            price_noun="million characters",
        ),
        Unit(
            "search",
            "Searches",
            noun="searches",
            price_column="search_pusd",
            price_steps=1_000,
            price_noun="thousand searches",
        ),
    )
}
# These have fields of their own in Usage and columns of their own in the call record.
COMMON = frozenset({"prompt", "cached", "completion", "reasoning"})
# The wholes that OpenAI's usage object has details of.
DETAILED = frozenset({"prompt", "completion"})


def other_units() -> Iterator[Unit]:
    """Yield the units that are not common, in the order of the table."""
    return (unit for unit in UNITS.values() if unit.name not in COMMON)


@cache
def detailed_units() -> list[Unit]:
    """Return those of the other units that OpenAI's usage object has details for."""
    return [
        unit
        for unit in UNITS.values()
        if unit.usage_detail and unit.name not in COMMON and unit.part_of in DETAILED
    ]


def parts_of(whole: str) -> Iterator[Unit]:
    """Yield the units that are parts of a whole, in the order of the table."""
    return (unit for unit in UNITS.values() if unit.part_of == whole)
