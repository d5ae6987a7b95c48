"""What a provider is tested with by a call, as a form."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_service_error
from gateway.models import Provider, ProviderCredential
from gateway.services.provider_calls import MODEL_CHARS, tested_models

MODELS = "tested-models"


class CallForm(forms.Form):
    """models: what is suggested."""

    model = forms.CharField(
        max_length=MODEL_CHARS,
        error_messages={"required": "Enter a model ID of the provider."},
        help_text="Any model ID of the provider, also of a model that is not added here.",
        widget=forms.TextInput(
            attrs={"list": MODELS, "autocomplete": "off", "spellcheck": "false"}
        ),
    )
    credential = forms.ChoiceField(required=False)

    def __init__(self, data: QueryDict | None, provider: Provider) -> None:
        self.models = tested_models(provider)
        super().__init__(data, auto_id="call_%s", initial={"model": next(iter(self.models), "")})
        rows = provider.credentials.exclude(source=ProviderCredential.Source.DYNAMIC)
        # Those that serve come first.
        self.credentials = [row.name for row in sorted(rows, key=lambda row: not row.enabled)]
        field = self.fields["credential"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in self.credentials]

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error)
