"""Inputs of secrets."""

from __future__ import annotations

from django import forms


class UnrepeatedTextarea(forms.Textarea):
    """Never shows what was sent: there are secrets in it."""

    def format_value(self, value: object) -> None:
        return None


# None of them shows what was sent.
SECRET_INPUTS = (forms.PasswordInput, UnrepeatedTextarea)
