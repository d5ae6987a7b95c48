"""The form of a service that processors ask. gateway.services.processor_services checks it."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from gateway.models import ProcessorService

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class ServiceForm(forms.Form):
    """Named as in gateway.services.processor_services. row: None for a new one."""

    name = forms.CharField(
        max_length=60,
        label="Name",
        help_text="Letters, digits, hyphens and underscores. Requests use it as service_id.",
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "presidio"}),
    )
    kind = forms.ChoiceField(label="Kind", choices=ProcessorService.Kind.choices)
    url = forms.CharField(
        max_length=500,
        label="URL",
        help_text="Without /analyze or /v2/check. An operator must allow private addresses.",
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "https://presidio.example.com"}),
    )
    credential = forms.CharField(
        required=False,
        max_length=4096,
        label="Credential",
        help_text="Sent as a bearer token. Stored encrypted.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    forget_credential = forms.BooleanField(required=False, label="Remove the credential")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: FormValues | None, row: ProcessorService | None) -> None:
        initial = {} if row is None else {"url": row.url, "seen": service_version(row)}
        super().__init__(data, initial=initial)
        if row is not None:
            del self.fields["name"]
            del self.fields["kind"]
        if row is not None and row.secret is not None:
            self.fields["credential"].help_text = "Leave empty to keep it."
        else:
            del self.fields["forget_credential"]

    def take(self, error: ValidationError) -> None:
        show_service_error(self, error)

    def changed_credential(self) -> str | None:
        """Return the credential to be had from now on; None to keep what there is."""
        forgets = self.cleaned_data.get("forget_credential")
        return self.cleaned_data["credential"] or ("" if forgets else None)


def service_version(row: ProcessorService) -> str:
    """Return a token that differs when anything that the form shows differs."""
    return version_token([row.url, bytes(row.secret or b"").hex()])
