"""The form with which an operator makes a workspace."""

from __future__ import annotations

from django import forms

from accounts.services import check_credit, read_name
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues


class WorkspaceForm(forms.Form):
    """Named as in accounts.services.create_workspace; owner is an e-mail address or empty."""

    name = forms.CharField(
        max_length=80,
        help_text="The team, product or customer that pays.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Acme, production"}),
    )
    credit = UsdField(
        empty="",
        label="Initial credit (USD)",
        help_text="For example 25 or 12.50. Default: none. Without credit, calls with a cost"
        " get 402.",
    )
    owner = forms.EmailField(
        max_length=254,
        required=False,
        label="Email of the owner",
        help_text="Without an account, they join by an invite link that you send them.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        credit_nusd = cleaned.get("credit") or 0
        show_more_errors(self, lambda: check_credit(credit_nusd))
        if "name" in cleaned:
            show_more_errors(self, lambda: read_name(cleaned["name"]))
        return cleaned
