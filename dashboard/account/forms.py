"""The forms of one's own account: the name, and two of django-allauth's in our words."""

from __future__ import annotations

from allauth.account.forms import ChangePasswordForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts


class PersonForm(forms.Form):
    """What is written is checked by accounts.services."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Your name",
        help_text="Other members see it next to your email.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class PasswordForm(ChangePasswordForm):  # type: ignore[misc] # allauth ships no types
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = "Current password"
        self.fields["password1"].label = "New password"
        self.fields["password1"].help_text = " ".join(password_validators_help_texts())
        self.fields["password2"].label = "New password again"


class PasskeyForm(AddWebAuthnForm):  # type: ignore[misc] # allauth ships no types
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].help_text = "For example the device that holds it."
        self.fields["passwordless"].label = "Sign in without a password"
        self.fields["passwordless"].help_text = (
            "The device asks for a fingerprint, face or PIN. If off, the passkey is the second step"
            " after the password."
        )
