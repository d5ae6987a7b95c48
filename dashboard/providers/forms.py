"""A provider as a form. A credential goes in and never comes out."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.providers.connection_form import CONNECTION_FIELDS, ConnectionForm
from gateway.models import Provider
from gateway.providers import catalogue
from gateway.services.addresses import URL_CHARS
from gateway.services.providers import CREDENTIAL_CHARS

VLLM = "vllm"
_FIELDS = ("structured_dialect", "is_local", "location", "allows_passthrough")


class ProviderForm(ConnectionForm):
    """Everything about a provider but its name and kind."""

    base_url = forms.CharField(
        max_length=URL_CHARS,
        required=False,
        label="Base URL",
        widget=forms.TextInput(
            attrs={
                "inputmode": "url",
                "autocomplete": "off",
                "spellcheck": "false",
                "placeholder": "https://llm.example.com/v1",
            }
        ),
    )
    credential = forms.CharField(
        max_length=CREDENTIAL_CHARS,
        required=False,
        help_text="Stored encrypted. Never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    structured_dialect = forms.ChoiceField(
        choices=Provider.StructuredDialect.choices,
        initial=Provider.StructuredDialect.STRUCTURED_OUTPUTS,
        label="Guided decoding",
        help_text="The parameter names of this vLLM version. Callers can use either form.",
    )
    is_local = forms.BooleanField(
        required=False, label="On-premises", help_text="Shown with its models."
    )
    location = forms.CharField(
        max_length=60, required=False, help_text="Data center region, such as eu-west."
    )
    allows_passthrough = forms.BooleanField(
        required=False,
        label="Allow calls by provider name",
        help_text="Callers can use provider/model with a provider model ID of one of your models.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def described(self) -> FormValues:
        """Return the fields of update_provider and add_provider."""
        return {name: self.cleaned_data[name] for name in _FIELDS}

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error)


class NewProviderForm(ProviderForm):
    """A provider that does not exist yet."""

    name = forms.CharField(
        max_length=60,
        help_text="Letters, digits, - and _.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    kind = forms.ChoiceField(choices=[(kind.name, kind.label) for kind in catalogue.ALL])

    def __init__(self, data: QueryDict | None) -> None:
        super().__init__(data)
        self.fields["base_url"].help_text = "Default: the provider’s standard URL."  # noqa: RUF001


def initial_of_provider(provider: Provider) -> FormValues:
    """Return what the form shows for a provider as it is."""
    fields = {name: getattr(provider, name) for name in (*_FIELDS, *CONNECTION_FIELDS)}
    return {"base_url": provider.base_url, **fields, "seen": provider_version(provider)}


def provider_version(provider: Provider) -> str:
    """Return a token that differs when anything that the form shows differs."""
    return version_token(
        [getattr(provider, name) for name in ("base_url", *_FIELDS, *CONNECTION_FIELDS)]
    )
