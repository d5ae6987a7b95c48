"""Money and counts as people read them. The only place where amounts become text for pages."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gateway.core.money import (
    CREDITS_PER_USD,
    NUSD_PER_USD,
    format_usd,
    format_usd_per_mtok,
)

register = template.Library()

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
NUSD_PER_CREDIT = NUSD_PER_USD // CREDITS_PER_USD
_STEPS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k"))


@register.filter
def usd(nusd: int | None) -> str:
    """Return the exact amount: `$12.345678901`. None is a dash."""
    if nusd is None:
        return DASH
    whole, _, decimals = format_usd(abs(nusd)).partition(".")
    return f"{_sign(nusd)}${int(whole):,}.{decimals}"


@register.filter
def usd_short(nusd: int | None) -> str:
    """Return the amount rounded for reading: cents from 1 USD up, below it what still matters."""
    if nusd is None:
        return DASH
    amount = Decimal(abs(nusd)) / NUSD_PER_USD
    # Below 1 USD three significant digits, but never fewer than cents or more than we keep.
    is_small = 0 < amount < 1
    places = min(9, max(2, 2 - amount.adjusted())) if is_small else 2
    rounded = amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
    return f"{_sign(nusd)}${_trimmed(f'{rounded:,f}')}"


@register.simple_tag
def money(nusd: int | None) -> SafeString:
    """Return the rounded amount, with the exact one on hover and for programs."""
    if nusd is None:
        return format_html("<span>{}</span>", DASH)
    exact = f"{format_usd(nusd)} USD"
    return format_html(
        '<data value="{}" title="{}">{}</data>', format_usd(nusd), exact, usd_short(nusd)
    )


@register.filter
def signed_usd(nusd: int) -> str:
    """Return the exact amount with its sign, a plus too: `+$10.00`."""
    return usd(nusd) if nusd <= 0 else f"+{usd(nusd)}"


@register.filter
def credits(nusd: int | None) -> str:
    """Return credits (1 credit is 0.01 USD) to two decimals, with the unit."""
    if nusd is None:
        return DASH
    amount = (Decimal(abs(nusd)) / NUSD_PER_CREDIT).quantize(Decimal("0.01"))
    text = f"{amount:,f}".removesuffix(".00")
    return f"{_sign(nusd) if amount else ''}{text} {'credit' if text == '1' else 'credits'}"


@register.filter
def usd_per_mtok(pusd_per_token: int) -> str:
    """Return a price: `$0.15 per 1M tokens`."""
    return f"{price(pusd_per_token)} per 1M tokens"


@register.filter
def price(pusd_per_token: int) -> str:
    """Return a price in USD per million tokens, for where the unit is said already: `$0.15`."""
    whole, _, decimals = format_usd_per_mtok(pusd_per_token).partition(".")
    return f"${int(whole):,}.{decimals}"


@register.filter
def count(number: int | None) -> str:
    """Return a count with its thousands apart: `12,345`."""
    return DASH if number is None else f"{number:,}"


@register.filter
def compact(number: int | None) -> str:
    """Return a count short enough for a card: `12,345` is `12.3k`."""
    if number is None:
        return DASH
    for step, letter in _STEPS:
        # A thousandth below, so that 999,960 becomes 1M and not 1,000k.
        if abs(number) >= step * 0.99995 and abs(number) >= 10_000:
            return f"{number / step:.1f}".removesuffix(".0") + letter
    return f"{number:,}"


@register.filter
def percent(share: float | None) -> str:
    """Return a share of 1 in percent: `1.25 %`. None is a dash."""
    if share is None:
        return DASH
    shown = share * 100
    digits = 0 if shown == round(shown) else 2 if abs(shown) < 1 else 1
    return f"{shown:.{digits}f} %"


def _sign(nusd: int) -> str:
    return MINUS if nusd < 0 else ""


def _trimmed(text: str) -> str:
    """Drop zeros at the end, but keep cents."""
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"
