"""What a key may do, as fields: shared by the forms of a key, of a workspace's access rules, and of
the maximum for developers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.values import FormValues
from dashboard.keys.limits_form import KeyLimitsForm
from gateway.core.name_patterns import ANY, compile_names
from keys.models import DeveloperKeyPolicy, LimitedAccess, Scope
from keys.rules import (
    read_denied_models,
    read_denied_networks,
    read_model_names,
    read_networks,
)

ALL, SOME = "all", "some"
DENIED = ("denied_models", "denied_ips")
SCOPE_WORDS = {
    Scope.COMPLETIONS: "Call models",
    Scope.USAGE: "Read own usage",
    Scope.USAGE_WORKSPACE: "Read usage and calls of the whole workspace",
    Scope.FILES: "Store and read files",
    Scope.PII: "Detect personal data",
    Scope.LANGUAGE: "Detect languages and correct spelling",
    Scope.ADMIN: "Manage the workspace",
}


def lines_field(label: str, help_text: str, example: str) -> forms.CharField:
    attrs = {"rows": 3, "spellcheck": "false", "placeholder": example}
    return forms.CharField(
        required=False, label=label, help_text=help_text, widget=forms.Textarea(attrs=attrs)
    )


class AccessForm(forms.Form):
    """Models and networks. Named as in keys.services: its errors fall into place."""

    models_mode = forms.ChoiceField(
        choices=[(ALL, "All models"), (SOME, "Only these")],
        initial=ALL,
        widget=forms.RadioSelect,
        label="Models",
    )
    allowed_models = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Allowed models"
    )
    allowed_patterns = lines_field(
        "Patterns", "Patterns, one per line. * stands for any characters.", "openai/*\ngpt-4*"
    )
    ips_mode = forms.ChoiceField(
        choices=[(ALL, "Any IP address"), (SOME, "Only these")],
        initial=ALL,
        widget=forms.RadioSelect,
        label="Allowed IPs",
    )
    allowed_ips = lines_field(
        "IP addresses and networks",
        "One IP address or network (CIDR) per line.",
        "203.0.113.0/24\n2001:db8::/32",
    )

    def __init__(
        self, data: QueryDict | None, *, initial: FormValues, models: Sequence[str]
    ) -> None:
        """models: what the catalogue has."""
        super().__init__(data, initial=initial)
        kept = self.initial.get("allowed_models", [])
        names = [*models, *(name for name in kept if name not in models)]
        self._offer("allowed_models", [(name, name) for name in names])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        named = cleaned.get("allowed_models") or cleaned.get("allowed_patterns")
        if cleaned.get("models_mode") == SOME and not named:
            self._complain("allowed_models", "Choose at least one model, or allow all models.")
        elif cleaned.get("models_mode") == SOME:
            patterns = written_lines(cleaned.get("allowed_patterns", ""))
            show_more_errors(self, lambda: read_model_names(patterns))
        if cleaned.get("ips_mode") == SOME:
            self._check_networks(cleaned.get("allowed_ips", ""))
        return cleaned

    def chosen_models(self) -> list[str]:
        """Return the models and patterns of a valid form, empty for all models."""
        data = self.cleaned_data
        if data["models_mode"] != SOME:
            return []
        return [*data["allowed_models"], *written_lines(data["allowed_patterns"])]

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
            read_networks(rules, allow_any_address=self._allows_any_address(rules))
        except ValidationError as error:
            self.take(error)

    def _allows_any_address(self, rules: list[str]) -> bool:
        """True where the networks may be all that there are."""
        return False

    def _complain(self, name: str, words: str) -> None:
        if name not in self.errors:
            self.add_error(name, words)


class DenyForm(AccessForm):
    """The same, and what is denied whatever allows it."""

    denied_models = lines_field(
        "Denied models",
        "One name or pattern per line, * for any characters. Refused even if allowed above.",
        "openai/*\ngpt-4*",
    )
    denied_ips = lines_field(
        "Denied IPs",
        "One IP address or network (CIDR) per line. Refused even if allowed above.",
        "203.0.113.0/24\n2001:db8::/32",
    )
    confirm_any_address = forms.BooleanField(
        required=False,
        label="Allow every IP address",
        help_text="These rules allow all IP addresses.",
    )
    wants_confirmation = False

    def clean(self) -> FormValues:
        cleaned = super().clean()
        models = written_lines(cleaned.get("denied_models", ""))
        networks = written_networks(cleaned.get("denied_ips", ""))
        show_more_errors(self, lambda: read_denied_models(models))
        show_more_errors(self, lambda: read_denied_networks(networks))
        return cleaned

    def access(self) -> FormValues:
        """Return what the services take of models and networks, from a valid form."""
        data = self.cleaned_data
        return {
            "allowed_models": self.chosen_models(),
            "denied_models": written_lines(data["denied_models"]),
            "allowed_ips": self.chosen_networks(),
            "denied_ips": written_networks(data["denied_ips"]),
            "allow_any_address": data["confirm_any_address"],
        }

    @property
    def shows_denied(self) -> bool:
        """True when something is denied, or there is something to be said about it."""
        return any(self[name].value() or self[name].errors for name in DENIED)

    def take(self, error: ValidationError) -> None:
        """Show what the service found, and offer to confirm where that is the remedy."""
        super().take(error)
        self.wants_confirmation = "allowed_ips" in self.errors and self._is_only_wide()

    def _allows_any_address(self, rules: list[str]) -> bool:
        is_kept = rules == written_networks(self.initial.get("allowed_ips", ""))
        return is_kept or bool(self.cleaned_data.get("confirm_any_address"))

    def _is_only_wide(self) -> bool:
        """True when the networks are well written and would be taken once confirmed."""
        # Not from cleaned_data: a field that is complained about is no longer there.
        rules = written_networks(str(self.data.get("allowed_ips", "")))
        try:
            return bool(read_networks(rules, allow_any_address=True))
        except ValidationError:
            return False


class KeyRulesForm(AccessForm, KeyLimitsForm):
    """Models, networks, scopes, limits."""

    scopes = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Scopes"
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
        super().__init__(data, initial=initial, models=models)
        held = [scope for scope in Scope if scope in grantable]
        self._offer("scopes", [(scope.value, SCOPE_WORDS[scope]) for scope in held])


def written_networks(text: str) -> list[str]:
    """Return the lines (or comma-separated parts) that say something."""
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]


def written_lines(text: str) -> list[str]:
    """Return the lines that say something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def models_within(names: Iterable[str], allowed: Sequence[str]) -> list[str]:
    """Return those of the models that the names and patterns allow; all where there are none."""
    match = compile_names(tuple(allowed)).match
    return [name for name in names if not allowed or match(name)]


def initial_access(holder: LimitedAccess | DeveloperKeyPolicy) -> FormValues:
    """Return what the fields of AccessForm show."""
    patterns = [name for name in holder.allowed_models if ANY in name]
    return {
        "models_mode": SOME if holder.allowed_models else ALL,
        "allowed_models": [name for name in holder.allowed_models if ANY not in name],
        "allowed_patterns": "\n".join(patterns),
        "ips_mode": ALL if holder.allowed_ips is None else SOME,
        "allowed_ips": "\n".join(holder.allowed_ips or []),
    }


def initial_denied(holder: LimitedAccess) -> FormValues:
    """Return what the fields of DenyForm show."""
    return {name: "\n".join(getattr(holder, name)) for name in DENIED}
