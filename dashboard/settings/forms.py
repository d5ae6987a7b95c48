"""The forms of the settings page. What is written is checked by accounts.services."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from keys.models import CompatProfile


class NameForm(forms.Form):
    name = forms.CharField(max_length=80, widget=forms.TextInput(attrs={"autocomplete": "off"}))


class ProfileForm(forms.Form):
    compat_profile = forms.ChoiceField(
        required=False,
        choices=[("", "Installation default"), *CompatProfile.choices],
        label="Compatibility profile",
        help_text="Applies to keys without their own profile.",
    )


class LockForm(forms.Form):
    reason = forms.CharField(
        max_length=200,
        help_text="Shown to members. Callers only see that the workspace is locked.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Invoice overdue"}),
    )
    typed_name = forms.CharField(
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, data: QueryDict | None, *, workspace: str) -> None:
        """workspace: the name that has to be typed."""
        super().__init__(data)
        self._workspace = workspace
        self.fields["typed_name"].label = f"To confirm, type {workspace}"

    def clean_typed_name(self) -> str:
        typed = str(self.cleaned_data["typed_name"])
        if typed != self._workspace.strip():
            raise forms.ValidationError(f"Enter the workspace name: {self._workspace}")
        return typed
