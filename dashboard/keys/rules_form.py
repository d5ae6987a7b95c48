"""What a key may do, as fields: shared by the form of a key and by the maximum for developers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.values import FormValues
from dashboard.keys.limits_form import KeyLimitsForm
from keys.models import ApiKey, DeveloperKeyPolicy, Scope
from keys.rules import read_networks

ALL, SOME = "all", "some"
SCOPE_WORDS = {
    Scope.COMPLETIONS: "Call models",
    Scope.USAGE: "Read own usage",
    Scope.USAGE_WORKSPACE: "Read usage and calls of the whole workspace",
    Scope.FILES: "Store and read files",
    Scope.PII: "Detect personal data",
    Scope.LANGUAGE: "Detect languages",
    Scope.ADMIN: "Manage the workspace",
}


class KeyRulesForm(KeyLimitsForm):
    """Models, networks, scopes, limits. Named as in keys.services: its errors fall into place."""

    models_mode = forms.ChoiceField(
        choices=[(ALL, "All models"), (SOME, "Only these")],
        initial=ALL,
        widget=forms.RadioSelect,
        label="Models",
    )
    allowed_models = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Allowed models"
    )
    scopes = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Scopes"
    )
    ips_mode = forms.ChoiceField(
        choices=[(ALL, "Any IP address"), (SOME, "Only these")],
        initial=ALL,
        widget=forms.RadioSelect,
        label="Allowed IPs",
    )
    allowed_ips = forms.CharField(
        required=False,
        label="IP addresses and networks",
        help_text="One IP address or network (CIDR) per line.",
        widget=forms.Textarea(
            attrs={"rows": 3, "spellcheck": "false", "placeholder": "203.0.113.0/24\n2001:db8::/32"}
        ),
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        initial: FormValues,
        models: Sequence[str],
        grantable: Collection[str],
    ) -> None:
        """models: what the catalogue has; grantable: the scopes that may be chosen."""
        super().__init__(data, initial=initial)
        kept = self.initial.get("allowed_models", [])
        names = [*models, *(name for name in kept if name not in models)]
        held = [scope for scope in Scope if scope in grantable]
        self._offer("allowed_models", [(name, name) for name in names])
        self._offer("scopes", [(scope.value, SCOPE_WORDS[scope]) for scope in held])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if cleaned.get("models_mode") == SOME and not cleaned.get("allowed_models"):
            self._complain("allowed_models", "Choose at least one model, or allow all models.")
        if cleaned.get("ips_mode") == SOME:
            self._check_networks(cleaned.get("allowed_ips", ""))
        return cleaned

    def chosen_models(self) -> list[str]:
        """Return the models of a valid form, empty for all of them."""
        data = self.cleaned_data
        return list(data["allowed_models"]) if data["models_mode"] == SOME else []

    def chosen_networks(self) -> list[str] | None:
        """Return the networks of a valid form, None for any address."""
        data = self.cleaned_data
        return written_networks(data["allowed_ips"]) if data["ips_mode"] == SOME else None

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error)

    def _check_networks(self, text: str) -> None:
        """Say what is wrong with the networks now, together with the errors of other fields."""
        rules = written_networks(text)
        if not rules:
            self._complain("allowed_ips", "Enter at least one network, or allow any IP address.")
            return
        try:
            read_networks(rules, allow_any_address=True)
        except ValidationError as error:
            self.take(error)

    def _complain(self, name: str, words: str) -> None:
        if name not in self.errors:
            self.add_error(name, words)


def written_networks(text: str) -> list[str]:
    """Return the lines (or comma-separated parts) that say something."""
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]


def initial_access(holder: ApiKey | DeveloperKeyPolicy) -> FormValues:
    """Return what the fields of models and networks show."""
    return {
        "models_mode": SOME if holder.allowed_models else ALL,
        "allowed_models": holder.allowed_models,
        "ips_mode": ALL if holder.allowed_ips is None else SOME,
        "allowed_ips": "\n".join(holder.allowed_ips or []),
    }
