"""The forms of the members page. What is written is checked by accounts."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.http import QueryDict

from accounts.models import Role
from dashboard.forms.values import FormValues

ROLE_HELP = (
    "Owners and admins manage the workspace. Only owners can add owners. Developers create keys. "
    "Billing sees usage and credits. Viewers see usage and keys."
)
REVOKE, KEEP = "revoke", "keep"


class RoleForm(forms.Form):
    """given: the roles that this person may give."""

    role = forms.ChoiceField(help_text=ROLE_HELP)

    def __init__(
        self, data: QueryDict | None, *, initial: FormValues, given: Collection[str]
    ) -> None:
        super().__init__(data, initial=initial)
        field = self.fields["role"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(value, words) for value, words in Role.choices if value in given]


class InviteForm(RoleForm):
    """Whom to invite, and as what."""

    email = forms.EmailField(
        label="Email",
        max_length=254,
        help_text="No email is sent. You get a link to share.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")


class RemoveForm(forms.Form):
    """What becomes of the keys that the member made."""

    keys = forms.ChoiceField(
        choices=[(REVOKE, "Revoke them"), (KEEP, "Transfer them to the workspace")],
        initial=REVOKE,
        widget=forms.RadioSelect,
        label="Their keys",
    )
