"""The form with which an operator gives or takes credit."""

from __future__ import annotations

from django import forms

from accounts.ids import new_id
from accounts.text import is_visible
from dashboard.forms.usd_field import read_typed_usd


def new_token() -> str:
    """Return what makes one filled-in form unique: sent twice, it is posted once."""
    return str(new_id())


class GrantForm(forms.Form):
    """amount: USD as text, exact to the nano. token: see new_token."""

    amount = forms.CharField(
        label="Amount (USD)",
        max_length=40,
        help_text="For example 25 or 12.50. A negative amount removes credit.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    reason = forms.CharField(
        label="Reason",
        max_length=200,
        help_text="Recorded in the ledger and the audit log.",
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
            raise forms.ValidationError("The amount cannot be 0.")
        return amount_nusd

    def clean_reason(self) -> str:
        reason = str(self.cleaned_data["reason"])
        if not is_visible(reason):
            raise forms.ValidationError("Control characters are not allowed.")
        return reason


def with_fresh_token(form: GrantForm) -> GrantForm:
    """Return the form as it is, or, when its token is not one, able to be sent again."""
    if "token" not in form.errors:
        return form
    fresh = GrantForm(
        {name: form.data.get(name, "") for name in form.fields} | {"token": new_token()}
    )
    fresh.add_error(None, "The form was incomplete. Check it and submit it again.")
    return fresh
