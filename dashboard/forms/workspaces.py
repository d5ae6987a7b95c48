"""The form with which an operator makes a workspace."""

from __future__ import annotations

from django import forms

from dashboard.forms.amounts import UsdField


class WorkspaceForm(forms.Form):
    """Named as in accounts.services.create_workspace; owner is an e-mail address or empty."""

    name = forms.CharField(
        max_length=80,
        help_text="Who pays: a team, a product, a customer.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Acme, production"}),
    )
    credit = UsdField(
        empty="",
        label="First credit in USD",
        help_text="Such as 25 or 12.50; empty for none yet.",
    )
    owner = forms.EmailField(
        max_length=254,
        required=False,
        label="Owner",
        help_text="Who has no account here is invited: you get a link to pass on.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
