"""One of a provider's credentials as a form."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.providers.credential_fields import CredentialParts
from gateway.models import Provider, ProviderCredential
from gateway.models.credential import MAX_WEIGHT
from gateway.providers import catalogue
from gateway.services.provider_credentials import (
    MAX_CONCURRENT,
    MAX_PER_MINUTE,
    CredentialFields,
    read_new_credential,
)
from gateway.services.row_names import check_name

_FIELDS = ("name", "weight", "requests_per_minute", "max_concurrent", "enabled")


class CredentialForm(CredentialParts):
    """row: None for a new one."""

    name = forms.CharField(
        max_length=60,
        help_text="Letters, digits, - and _. Shown in the records of calls.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    weight = forms.IntegerField(
        min_value=1,
        max_value=MAX_WEIGHT,
        help_text="Share of calls, relative to the other credentials.",
    )
    requests_per_minute = forms.IntegerField(
        min_value=1,
        max_value=MAX_PER_MINUTE,
        required=False,
        help_text="In any 60 seconds, per server process.",
    )
    max_concurrent = forms.IntegerField(
        min_value=1,
        max_value=MAX_CONCURRENT,
        required=False,
        label="Concurrent requests",
        help_text="Per server process.",
    )
    enabled = forms.BooleanField(
        required=False, help_text="Disabling it does not interrupt running calls."
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: QueryDict | None, provider: Provider, row: ProviderCredential | None
    ) -> None:
        super().__init__(data, initial=_initial(row))
        kind = catalogue.BY_NAME.get(provider.kind)
        self._credential_kind = "key" if kind is None else kind.credential
        others = provider.credentials.all()
        self._others = others if row is None else others.exclude(pk=row.pk)
        self._row = row
        self.add_parts(self._credential_kind)

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if self.errors:
            self._show_more(cleaned)
        return cleaned

    def _show_more(self, cleaned: FormValues) -> None:
        """Show what the service would say of the fields that are well-formed."""
        show_more_errors(self, lambda: check_name(cleaned.get("name", "").strip(), self._others))
        if self.has_credential_errors():
            return
        row = self._row
        text = self.credential_text() if row is None else self.changed_credential(row)
        if text is not None:
            show_more_errors(self, lambda: read_new_credential(self._credential_kind, text))

    def values(self) -> CredentialFields:
        """Return the fields of add_credential and update_credential."""
        data = self.cleaned_data
        return {
            "name": data["name"].strip(),
            "weight": data["weight"],
            "requests_per_minute": data["requests_per_minute"],
            "max_concurrent": data["max_concurrent"],
            "enabled": data["enabled"],
        }

    def changed_credential(self, row: ProviderCredential) -> str | None:
        """Return what takes the place of the credential there is, None where nothing does."""
        text = self.credential_text()
        return None if text == f"{row.source}::{row.variable}" else text or None

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error)


def _initial(row: ProviderCredential | None) -> FormValues:
    if row is None:
        return {"weight": 1, "enabled": True}
    fields = {name: getattr(row, name) for name in _FIELDS}
    where = {"credential_source": row.source, "credential_variable": row.variable}
    return {**fields, **where, "seen": credential_version(row)}


def credential_version(row: ProviderCredential) -> str:
    """Return a token that differs when anything that the form shows differs, or the secret, which
    it does not show and may replace."""
    secret = bytes(row.secret or b"").hex()
    names = (*_FIELDS, "source", "variable")
    return version_token([secret, *(getattr(row, name) for name in names)])
