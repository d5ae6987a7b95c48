"""Amounts as people type them. What a comma means depends on who types it, so we ask back."""

from __future__ import annotations

import re

from django import forms
from django.core.exceptions import ValidationError

from gateway.core.money import format_usd, read_usd

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
        raise ValueError("Enter the amount without commas, such as 1000.50.")
    return read_usd(plain)


class UsdField(forms.CharField):
    """USD as people type it; nano-USD when clean and when initial, None when empty.

    empty: what stands in a field that nothing was written into.
    """

    def __init__(self, *, empty: str, label: str, help_text: str) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off", "placeholder": empty}
        super().__init__(
            max_length=40,
            required=False,
            widget=forms.TextInput(attrs=attrs),
            label=label,
            help_text=help_text,
        )

    def prepare_value(self, value: object) -> object:
        return format_usd(value) if isinstance(value, int) else value

    def clean(self, value: object) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return read_typed_usd(text)
        except ValueError as error:
            raise ValidationError(str(error)) from None
