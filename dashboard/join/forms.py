"""The forms of accepting an invitation. What is written is checked by accounts."""

from __future__ import annotations

from django import forms

from dashboard.account.forms import PersonForm


class CodeForm(forms.Form):
    """The code of an invitation, as it was passed on."""

    code = forms.CharField(
        max_length=200,
        label="Invitation code",
        help_text="The part of your invite link after the #.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_code(self) -> str:
        """Return the code alone, where the whole link was pasted."""
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


class NewPersonForm(PersonForm):
    """Who has no account yet. Named as in accounts.services.create_user."""

    password = forms.CharField(
        max_length=200,
        strip=False,
        label="Password",
        help_text="At least 10 characters.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
