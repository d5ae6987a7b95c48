"""The forms of the settings page. What is written is checked by accounts.services."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from accounts.limits import RANGES
from accounts.models import Workspace
from dashboard.forms.version_token import version_token
from dashboard.keys.limits_form import CallLimitsForm
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


class WorkspaceLimitsForm(CallLimitsForm):
    """How often and how many at a time, for all calls of a workspace."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, workspace: Workspace) -> WorkspaceLimitsForm:
        stored = {name: getattr(workspace, name) for name in RANGES}
        return cls(initial=stored | {"seen": limits_version(workspace)})


def limits_version(workspace: Workspace) -> str:
    """Return a token that differs when anything that the form of limits shows differs."""
    return version_token([getattr(workspace, name) for name in RANGES])


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
