"""The forms of the settings page. What is written is checked by accounts.services."""

from __future__ import annotations

from django import forms

from keys.models import CompatProfile


class NameForm(forms.Form):
    name = forms.CharField(max_length=80, widget=forms.TextInput(attrs={"autocomplete": "off"}))


class ProfileForm(forms.Form):
    compat_profile = forms.ChoiceField(
        required=False,
        choices=[("", "As the installation"), *CompatProfile.choices],
        label="Compatibility profile",
        help_text="The product whose clients those keys serve that name none themselves.",
    )


class LockForm(forms.Form):
    reason = forms.CharField(
        max_length=200,
        help_text="Members see it; callers are told that the workspace is locked, no more.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Invoice overdue"}),
    )
