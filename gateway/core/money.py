"""Money is integers: prices in pico-USD per token, amounts in nano-USD (docs/adr/0005)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import msgspec

NUSD_PER_USD = 1_000_000_000
PUSD_PER_NUSD = 1_000
PUSD_PER_TOKEN_PER_USD_PER_MTOK = 1_000_000
CREDITS_PER_USD = 100
MAX_NUSD = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Price:
    """Pico-USD per token. The cached rate is for prompt tokens read from a provider's cache."""

    input_pusd: int
    cached_input_pusd: int
    output_pusd: int


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Token counts in OpenAI's meaning: prompt includes cached, completion includes reasoning."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


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
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    pusd = (
        (usage.prompt_tokens - cached) * price.input_pusd
        + cached * price.cached_input_pusd
        + usage.completion_tokens * price.output_pusd
    )
    return half_even(pusd, PUSD_PER_NUSD)


def read_usd(text: str) -> int:
    """Return nano-USD for a decimal amount of USD such as "12.50".

    Raises ValueError unless it is a plain ASCII decimal, exact to the nano, in 64 bits.
    """
    return _read_scaled(text, NUSD_PER_USD, "an amount in USD")


def read_usd_per_mtok(text: str) -> int:
    """Return pico-USD per token for a price in USD per million tokens such as "0.0375".

    Raises ValueError unless it is a plain, non-negative decimal, exact to the pico.
    """
    pusd = _read_scaled(text, PUSD_PER_TOKEN_PER_USD_PER_MTOK, "a price in USD per million tokens")
    if pusd < 0:
        raise ValueError("A price cannot be negative.")
    return pusd


def _read_scaled(text: str, scale: int, what: str) -> int:
    plain = text.strip()
    allowed = set("0123456789.-+")
    if not plain or len(plain) > 40 or not set(plain) <= allowed:
        raise ValueError(f"{text[:40]!r} is not {what}: write a plain decimal such as 12.50.")
    try:
        scaled = Decimal(plain) * scale
    except InvalidOperation:
        raise ValueError(f"{text[:40]!r} is not {what}.") from None
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{plain} has more decimals than we keep for {what}.")
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
    whole, rest = divmod(pusd_per_token, PUSD_PER_TOKEN_PER_USD_PER_MTOK)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{whole}.{decimals}"


def credits_used(nusd: int, *, whole: bool = False) -> float | int:
    """Return credits (1 credit is 0.01 USD) rounded up to 4 decimals; whole ones as integers.

    whole: rounded up to whole ones.
    """
    if whole:
        return -(-nusd * CREDITS_PER_USD // NUSD_PER_USD)
    ten_thousandths = -(-nusd * CREDITS_PER_USD * 10_000 // NUSD_PER_USD)
    ones, rest = divmod(ten_thousandths, 10_000)
    return ones if rest == 0 else ten_thousandths / 10_000
