"""Amounts as people type them. What a comma means depends on who types it, so we ask back."""

from __future__ import annotations

import re

from gateway.core.money import read_usd

# Before a decimal point commas can only part thousands; elsewhere one may be the point itself.
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+\.[0-9]+")


def read_typed_usd(text: str) -> int:
    """Return nano-USD for what was typed: `12.50`, `$12.50`, `1,000.50`.

    Raises ValueError, whose text can be shown, when it is no amount or could be two: `1,50`.
    """
    plain = text.strip().removeprefix("$")
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    if "," in plain:
        raise ValueError("Write the amount with a point and without commas, such as 1000.50.")
    return read_usd(plain)
