"""The form of a service that processors ask. gateway.services.processor_services checks it."""

from __future__ import annotations

from django import forms

from dashboard.forms.remote_form import RemoteForm, credential_field, plain_field
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from gateway.models import ProcessorService
from gateway.services.processor_services import check_credential, check_url
from gateway.services.row_names import check_name


class ServiceForm(RemoteForm):
    """Named as in gateway.services.processor_services. row: None for a new one."""

    fixed = ("name", "kind")

    name = plain_field(
        "Name",
        "Letters, digits, hyphens and underscores. Requests use it as service_id.",
        max_length=60,
        example="presidio",
    )
    kind = forms.ChoiceField(label="Kind", choices=ProcessorService.Kind.choices)
    url = plain_field(
        "URL",
        "Without /analyze or /v2/check. Private addresses and http are forbidden by default; an"
        " operator can allow the network.",
        max_length=500,
        example="https://presidio.example.com",
    )
    credential = credential_field("Sent as a bearer token. Stored encrypted.", max_length=4096)

    def __init__(self, data: FormValues | None, row: ProcessorService | None) -> None:
        initial = {} if row is None else {"url": row.url, "seen": service_version(row)}
        super().__init__(data, row, initial)

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if not self.errors:
            return cleaned
        row = ProcessorService(url=cleaned.get("url", "").strip())
        name = cleaned.get("name", "")
        show_more_errors(self, lambda: check_name(name, ProcessorService.objects.none()))
        show_more_errors(self, lambda: check_url(row))
        show_more_errors(self, lambda: check_credential(cleaned.get("credential", "").strip()))
        return cleaned


def service_version(row: ProcessorService) -> str:
    """Return a token that differs when anything that the form shows differs."""
    return version_token([row.url, bytes(row.secret or b"").hex()])
