"""The form with which an operator makes a workspace."""

from __future__ import annotations

from django import forms

from dashboard.forms.amounts import read_typed_usd


class WorkspaceForm(forms.Form):
    """Named as in accounts.services.create_workspace; owner is an e-mail address or empty."""

    name = forms.CharField(
        max_length=80,
        help_text="Who pays: a team, a product, a customer.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Acme, production"}),
    )
    credit = forms.CharField(
        max_length=40,
        required=False,
        label="First credit in USD",
        help_text="Such as 25 or 12.50; empty for none yet.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    owner = forms.EmailField(
        max_length=254,
        required=False,
        label="Owner",
        help_text="Who has no account here is invited: you get a link to pass on.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )

    def clean_credit(self) -> int:
        """Return the credit in nano-USD."""
        text = self.cleaned_data["credit"].strip()
        try:
            return read_typed_usd(text) if text else 0
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
