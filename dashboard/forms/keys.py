"""The rules of a key as a form. What is written is checked by keys.services, not here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from dashboard.forms.limits import KeyLimitsForm
from dashboard.forms.mark import mark_of
from dashboard.forms.refusal import show_refusal
from keys.limits import limits_of
from keys.models import ApiKey, CompatProfile, Scope, default_scopes
from keys.rules import read_networks

ALL, SOME = "all", "some"
NEVER, ON = "never", "on"
EXPIRY_DAYS = {"7d": 7, "30d": 30, "90d": 90, "365d": 365}
COMPATIBILITY = ("compat_profile", "allows_profile_override", "allows_chat_template")
SCOPE_WORDS = {
    Scope.COMPLETIONS: "Call models",
    Scope.USAGE: "Read its own usage",
    Scope.FILES: "Store and read files",
    Scope.PII: "Detect personal data",
    Scope.LANGUAGE: "Detect languages",
    Scope.ADMIN: "Manage the workspace",
}


class KeyForm(KeyLimitsForm):
    """Label, rules and limits. Named as in keys.services: its errors fall into place."""

    label = forms.CharField(
        max_length=80,
        help_text="What uses it: a service, a person, a place.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "production backend"}),
    )
    models_mode = forms.ChoiceField(
        choices=[(ALL, "Every model"), (SOME, "Only these")],
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
        choices=[(ALL, "Any address"), (SOME, "Only these")],
        initial=ALL,
        widget=forms.RadioSelect,
        label="Addresses",
    )
    allowed_ips = forms.CharField(
        required=False,
        label="Allowed networks",
        help_text="One address or network (CIDR) per line.",
        widget=forms.Textarea(
            attrs={"rows": 3, "spellcheck": "false", "placeholder": "203.0.113.0/24\n2001:db8::/32"}
        ),
    )
    confirm_any_address = forms.BooleanField(
        required=False, label="Yes, let every address in", help_text="The rules above do so."
    )
    expires = forms.ChoiceField(
        choices=[
            (NEVER, "Never"),
            ("7d", "In 7 days"),
            ("30d", "In 30 days"),
            ("90d", "In 90 days"),
            ("365d", "In a year"),
            (ON, "At a moment of my choice"),
        ],
        initial=NEVER,
        label="Expires",
    )
    expires_at = forms.DateTimeField(
        required=False,
        label="Moment (UTC)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    compat_profile = forms.ChoiceField(
        required=False,
        choices=[("", "As the workspace"), *CompatProfile.choices],
        label="Compatibility profile",
        help_text="The product whose clients the key serves: they work unchanged.",
    )
    allows_profile_override = forms.BooleanField(
        required=False,
        initial=True,
        label="A request may choose another profile",
        help_text="By the header X-Compat-Profile.",
    )
    allows_chat_template = forms.BooleanField(
        required=False,
        label="Calls may bring a chat template",
        help_text="The provider runs it as a program. Only vLLM takes one.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, models: Sequence[str], grantable: Collection[str], **kwargs: Any
    ) -> None:
        """models: what the catalogue has; grantable: the scopes that this person may give."""
        super().__init__(*args, **kwargs)
        kept = self.initial.get("allowed_models", [])
        names = [*models, *(name for name in kept if name not in models)]
        held = [scope for scope in Scope if scope in grantable]
        self._offer("allowed_models", [(name, name) for name in names])
        self._offer("scopes", [(scope.value, SCOPE_WORDS[scope]) for scope in held])
        self.wants_confirmation = False

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = choices

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("models_mode") == SOME and not cleaned.get("allowed_models"):
            self._complain("allowed_models", "Choose at least one model, or allow every model.")
        if cleaned.get("ips_mode") == SOME:
            self._check_networks(cleaned.get("allowed_ips", ""))
        if cleaned.get("expires") == ON and not cleaned.get("expires_at"):
            self._complain("expires_at", "Choose the moment.")
        return cleaned

    def rules(self) -> dict[str, Any]:
        """Return what keys.services takes, from a valid form."""
        data = self.cleaned_data
        only_these_ips = data["ips_mode"] == SOME
        return {
            "label": data["label"],
            "scopes": data["scopes"],
            "allowed_models": data["allowed_models"] if data["models_mode"] == SOME else [],
            "allowed_ips": written_networks(data["allowed_ips"]) if only_these_ips else None,
            "expires_at": self._expiry(),
            "allow_any_address": data["confirm_any_address"],
        }

    def compatibility(self) -> dict[str, Any]:
        """Return what keys.services.set_compatibility takes, from a valid form."""
        return {name: self.cleaned_data[name] for name in COMPATIBILITY}

    def take(self, error: ValidationError) -> None:
        """Show what the service found, and offer to confirm where that is the remedy."""
        show_refusal(self, error)
        self.wants_confirmation = "allowed_ips" in self.errors and self._is_only_wide()

    def _check_networks(self, text: str) -> None:
        """Say what is wrong with the networks now, together with the errors of other fields."""
        rules = written_networks(text)
        if not rules:
            self._complain("allowed_ips", "Write at least one network, or allow any address.")
            return
        try:
            read_networks(rules, allow_any_address=True)
        except ValidationError as error:
            self.take(error)

    def _complain(self, name: str, words: str) -> None:
        if name not in self.errors:
            self.add_error(name, words)

    def _expiry(self) -> datetime | None:
        chosen = self.cleaned_data["expires"]
        if chosen == NEVER:
            return None
        if chosen == ON:
            moment: datetime = self.cleaned_data["expires_at"]
            kept: datetime | None = self.initial.get("kept_expiry")
            # The field shows minutes: what it shows of the moment there is means that moment.
            return kept if kept and kept.replace(second=0, microsecond=0) == moment else moment
        return timezone.now() + timedelta(days=EXPIRY_DAYS[chosen])

    def _is_only_wide(self) -> bool:
        """True when the networks are well written and would be taken once confirmed."""
        # Not from cleaned_data: a field that is complained about is no longer there.
        rules = written_networks(str(self.data.get("allowed_ips", "")))
        try:
            return bool(read_networks(rules, allow_any_address=True))
        except ValidationError:
            return False


def initial_of(key: ApiKey) -> dict[str, Any]:
    """Return what the form shows for a key as it is."""
    return {
        "label": key.label,
        "models_mode": SOME if key.allowed_models else ALL,
        "allowed_models": key.allowed_models,
        "scopes": key.scopes,
        "ips_mode": ALL if key.allowed_ips is None else SOME,
        "allowed_ips": "\n".join(key.allowed_ips or []),
        "expires": NEVER if key.expires_at is None else ON,
        "expires_at": key.expires_at and key.expires_at.astimezone(UTC).replace(tzinfo=None),
        "kept_expiry": key.expires_at,
        "seen": rules_mark(key),
        **_compatibility_of(key),
        **limits_of(key),
    }


def initial_of_new(grantable: Collection[str]) -> dict[str, Any]:
    return {"scopes": [scope for scope in default_scopes() if scope in grantable]}


def rules_mark(key: ApiKey) -> str:
    """Return a mark that differs when what the form shows differs: has somebody been here?"""
    rules = [key.label, key.scopes, key.allowed_models, key.allowed_ips, str(key.expires_at)]
    return mark_of([*rules, _compatibility_of(key), limits_of(key)])


def _compatibility_of(key: ApiKey) -> dict[str, Any]:
    return {name: getattr(key, name) for name in COMPATIBILITY}


def written_networks(text: str) -> list[str]:
    """Return the lines (or comma-separated parts) that say something."""
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]
