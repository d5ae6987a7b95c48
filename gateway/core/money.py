"""Money is integers: prices in pico-USD per token, amounts in nano-USD (docs/adr/0005)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache, reduce

import msgspec

from gateway.core.units import CACHE_WRITE, CACHE_WRITE_1H, UNITS, Unit, other_units, parts_of

NUSD_PER_USD = 1_000_000_000
NUSD_PER_MICRO_USD = 1_000
PUSD_PER_NUSD = 1_000
PUSD_PER_TOKEN_PER_USD_PER_MTOK = 1_000_000
CREDITS_PER_USD = 100
MAX_NUSD = 2**63 - 1


Counts = dict[str, int]


class Price(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Pico-USD per token, and per step of other units (gateway.core.units).

    The names in quotes are those in the journal.
    """

    input_pusd: int = msgspec.field(name="i")
    # For prompt tokens read from a provider's cache.
    cached_input_pusd: int = msgspec.field(name="h")
    output_pusd: int = msgspec.field(name="o")
    # Of other units, those that have a price set: name and price.
    others: tuple[tuple[str, int], ...] = msgspec.field(default=(), name="x")

    def of(self, unit: str) -> int:
        """Return what one step of a unit costs, by the price that applies to it."""
        if unit in _FIELD_OF:
            price_pusd: int = getattr(self, _FIELD_OF[unit])
            return price_pusd
        for name, pusd in self.others:
            if name == unit:
                return pusd
        known = UNITS.get(unit)
        other = "" if known is None else known.priced_as or known.part_of
        return self.of(other) if other else 0

    def highest_of(self, whole: str) -> int:
        """Return the highest price that a step of the whole or of a part of it can have."""
        pusd = self.of(whole)
        if whole == "prompt" and self.cached_input_pusd > pusd:
            pusd = self.cached_input_pusd
        if self.others:
            pusd = max(pusd, *[self.of(unit.name) for unit in parts_of(whole)])
        return pusd


_FIELD_OF = {
    "prompt": "input_pusd",
    "cached": "cached_input_pusd",
    "completion": "output_pusd",
    "reasoning": "output_pusd",
}


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a call used, in OpenAI's meaning: prompt includes cached, completion reasoning.

    The names in quotes are those in the journal.
    """

    prompt_tokens: int = msgspec.field(default=0, name="p")
    completion_tokens: int = msgspec.field(default=0, name="c")
    cached_tokens: int = msgspec.field(default=0, name="h")
    reasoning_tokens: int = msgspec.field(default=0, name="r")
    # Counts of other units (gateway.core.units), by name.
    others: Counts = msgspec.field(default_factory=dict, name="x")


# What no caller can limit, and no hold covers: so much is believed of a call with any of the unit
# (docs/adr/0090).
BEYOND_HOLDS = {
    "research": Usage(1_000_000, 1_000_000, others={"research": 1_000_000, "search": 1_000}),
}


def count_cache_writes(usage: Usage) -> int:
    """Return the prompt tokens that were written to a cache, for whatever time it keeps them."""
    others = usage.others
    return others.get(CACHE_WRITE, 0) + others.get(CACHE_WRITE_1H, 0) if others else 0


def with_output(usage: Usage, completion_tokens: int) -> Usage:
    """Return the counts of the prompt with another count of the output."""
    parts = {unit.name for unit in parts_of("prompt")}
    return Usage(
        usage.prompt_tokens,
        completion_tokens,
        usage.cached_tokens,
        others={name: count for name, count in usage.others.items() if name in parts},
    )


def write_micro_usd(nusd: int) -> str:
    """Return micro-USD as a decimal string, exact."""
    whole, rest = divmod(nusd, NUSD_PER_MICRO_USD)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") if rest else str(whole)


def sum_usage(one: Usage, other: Usage) -> Usage:
    """Return what two calls used together."""
    names = one.others.keys() | other.others.keys()
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.cached_tokens + other.cached_tokens,
        one.reasoning_tokens + other.reasoning_tokens,
        {name: one.others.get(name, 0) + other.others.get(name, 0) for name in sorted(names)},
    )


def sum_known(usages: Sequence[Usage | None]) -> Usage | None:
    """Return what several requests used together, None unless it is known of each."""
    known = [usage for usage in usages if usage is not None]
    return reduce(sum_usage, known) if known and len(known) == len(usages) else None


def highest(prices: Sequence[Price]) -> Price:
    """Return the highest of each price."""
    if len(prices) == 1:
        return prices[0]
    others = {name for price in prices for name, _ in price.others}
    return Price(
        max(price.input_pusd for price in prices),
        max(price.cached_input_pusd for price in prices),
        max(price.output_pusd for price in prices),
        tuple((name, max(price.of(name) for price in prices)) for name in sorted(others)),
    )


def half_even(numerator: int, denominator: int) -> int:
    """Return numerator / denominator rounded half-even, exactly. Both non-negative."""
    quotient, rest = divmod(numerator, denominator)
    twice = 2 * rest
    if twice > denominator or (twice == denominator and quotient & 1):
        return quotient + 1
    return quotient


def cost_nusd(usage: Usage, price: Price) -> int:
    """Return what a call costs in nano-USD: exact in pico-USD, then rounded half-even once.

    Cached tokens beyond the prompt count are taken as the whole prompt: the provider's numbers
    disagree, and the caller gets the benefit.
    """
    cached, prompt = usage.cached_tokens, usage.prompt_tokens
    if cached > prompt:
        cached = prompt
    pusd = (
        (prompt - cached) * price.input_pusd
        + cached * price.cached_input_pusd
        + usage.completion_tokens * price.output_pusd
    )
    if usage.others:
        pusd += _others_pusd(usage, price)
    return half_even(pusd, PUSD_PER_NUSD)


def _others_pusd(usage: Usage, price: Price) -> int:
    """Return what the other units of a call add to its price; parts are taken off their wholes.

    Parts are together never more than their whole: the first ones in the table count.
    """
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    left = {"prompt": usage.prompt_tokens - cached, "completion": usage.completion_tokens}
    pusd = 0
    for unit in other_units():
        count = usage.others.get(unit.name, 0)
        if not count:
            continue
        step_pusd = price.of(unit.name)
        if whole := unit.part_of:
            count = min(count, left.setdefault(whole, usage.others.get(whole, 0)))
            left[whole] -= count
            step_pusd -= price.of(whole)
        pusd += count * step_pusd
    return pusd


def read_usd(text: str) -> int:
    """Return nano-USD for a decimal amount of USD such as "12.50".

    Raises ValueError unless it is a plain ASCII decimal, exact to the nano, in 64 bits.
    """
    return _read_scaled(text, NUSD_PER_USD, "an amount in USD")


def read_usd_per_mtok(text: str) -> int:
    """Return pico-USD per token for a price in USD per million tokens such as "0.0375".

    Raises ValueError unless it is a plain, non-negative decimal, exact to the pico.
    """
    return read_price(text, UNITS["prompt"])


def read_price(text: str, unit: Unit) -> int:
    """Return pico-USD per step for a unit's price as people give it.

    Raises ValueError unless it is a plain, non-negative decimal, exact to the pico.
    """
    what = f"a price in USD per {unit.price_noun}"
    pusd = _read_scaled(text, unit.pusd_per_shown_usd, what)
    if pusd < 0:
        raise ValueError("A price cannot be negative.")
    return pusd


def _read_scaled(text: str, scale: int, what: str) -> int:
    plain = text.strip()
    allowed = set("0123456789.-+")
    if not plain or len(plain) > 40 or not set(plain) <= allowed:
        raise ValueError(f"{text[:40]!r} is not {what}. Enter a decimal number such as 12.50.")
    try:
        scaled = Decimal(plain) * scale
    except InvalidOperation:
        raise ValueError(f"{text[:40]!r} is not {what}.") from None
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{plain} has too many decimals for {what}.")
    if abs(whole) > MAX_NUSD:
        raise ValueError(f"{plain} is too large for {what}.")
    return whole


def usd(nusd: int) -> float:
    """Return USD as a JSON number for display; never calculated with."""
    return nusd / NUSD_PER_USD


def format_usd(nusd: int) -> str:
    """Return the exact amount of USD as text: at least two decimals, no rounding."""
    sign = "-" if nusd < 0 else ""
    whole, rest = divmod(abs(nusd), NUSD_PER_USD)
    decimals = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{sign}{whole}.{decimals}"


def format_usd_per_mtok(pusd_per_token: int) -> str:
    """Return USD per million tokens as text that read_usd_per_mtok takes: `0.0375`, `2.00`."""
    return format_price(pusd_per_token, UNITS["prompt"])


def format_price(pusd: int, unit: Unit) -> str:
    """Return a unit's price as text that read_price takes: `0.0375`, `2.00`."""
    scale = unit.pusd_per_shown_usd
    whole, rest = divmod(pusd, scale)
    decimals = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0").ljust(2, "0")
    return f"{whole}.{decimals}"


@lru_cache(maxsize=1024)  # an answer says it twice
def credits_used(nusd: int, *, whole: bool = False) -> float | int:
    """Return credits (1 credit is 0.01 USD) rounded up to 4 decimals; whole ones as integers.

    whole: rounded up to whole ones.
    """
    if whole:
        return -(-nusd * CREDITS_PER_USD // NUSD_PER_USD)
    ten_thousandths = -(-nusd * CREDITS_PER_USD * 10_000 // NUSD_PER_USD)
    ones, rest = divmod(ten_thousandths, 10_000)
    return ones if rest == 0 else ten_thousandths / 10_000
