"""The form with which an operator gives or takes credit."""

from __future__ import annotations

from django import forms

from accounts.ids import new_id
from dashboard.forms.amounts import read_typed_usd


def new_token() -> str:
    """Return what makes one filled-in form unique: sent twice, it is posted once."""
    return str(new_id())


class GrantForm(forms.Form):
    """amount: USD as text, exact to the nano. token: see new_token."""

    amount = forms.CharField(
        label="Amount in USD",
        max_length=40,
        help_text="Such as 25 or 12.50. A minus takes credit away.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    reason = forms.CharField(
        label="Reason",
        max_length=200,
        help_text="Stands in the ledger and in the audit trail for good.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    token = forms.UUIDField(widget=forms.HiddenInput)

    def clean_amount(self) -> int:
        """Return the amount in nano-USD."""
        try:
            amount_nusd = read_typed_usd(self.cleaned_data["amount"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        if amount_nusd == 0:
            raise forms.ValidationError("An amount of 0 moves nothing.")
        return amount_nusd


def with_fresh_token(form: GrantForm) -> GrantForm:
    """Return the form as it is, or, when its token is not one, able to be sent again."""
    if "token" not in form.errors:
        return form
    fresh = GrantForm(
        {name: form.data.get(name, "") for name in form.fields} | {"token": new_token()}
    )
    fresh.add_error(None, "The form had lost its mark: look it over and send it again.")
    return fresh
