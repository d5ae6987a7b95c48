"""The rules of a key as a form. What is written is checked by keys.services, not here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone

from accounts.limits import RANGES, SPENDING
from accounts.models import Workspace
from accounts.text import read_line
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import (
    DenyForm,
    KeyRulesForm,
    initial_access,
    initial_denied,
    written_lines,
    written_networks,
)
from keys.importing import read_imported_secret
from keys.limits import limits_of
from keys.models import ApiKey, CompatProfile, DeveloperKeyPolicy, default_scopes
from keys.policy import check_policy, check_tightened
from keys.prefixes import offered_prefixes, only_profile_of
from keys.rules import LABEL_CHARS, read_expiry, read_scopes
from keys.services import check_lifetime

NEVER, ON = "never", "on"
NEW, IMPORTED = "new", "imported"
MINE, WORKSPACE = "me", "workspace"
EXPIRY_DAYS = {"7d": 7, "30d": 30, "90d": 90, "365d": 365}
COMPATIBILITY = ("compat_profile", "allows_profile_override", "allows_chat_template")


class PrefixSelect(forms.Select):
    """Says of each prefix which profile it is for, where that is one: static/js/key-form.js."""

    def create_option(self, name: str, value: object, *args: Any, **kwargs: Any) -> FormValues:
        option = super().create_option(name, value, *args, **kwargs)
        if profile := only_profile_of(str(value)):
            option["attrs"]["data-profile"] = profile
        return option


class KeyForm(DenyForm, KeyRulesForm):
    """Label, rules and limits."""

    label = forms.CharField(
        max_length=LABEL_CHARS,
        help_text="The service or person that uses it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "production backend"}),
    )
    expires = forms.ChoiceField(
        choices=[
            (NEVER, "Never"),
            ("7d", "In 7 days"),
            ("30d", "In 30 days"),
            ("90d", "In 90 days"),
            ("365d", "In 1 year"),
            (ON, "Custom date"),
        ],
        initial=NEVER,
        label="Expires",
    )
    expires_at = forms.DateTimeField(
        required=False,
        label="Date and time (UTC)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    compat_profile = forms.ChoiceField(
        required=False,
        choices=[("", "Workspace default"), *CompatProfile.choices],
        label="Compatibility profile",
        help_text="The product that the clients of this key were written for."
        " Responses have its format.",
    )
    allows_profile_override = forms.BooleanField(
        required=False,
        initial=True,
        label="Allow requests to choose another profile",
        help_text="With the X-Compat-Profile header.",
    )
    allows_chat_template = forms.BooleanField(
        required=False,
        label="Allow chat templates in requests",
        help_text="The provider runs the template as code. vLLM only.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    # The key as it is, where it is edited by somebody who may only tighten it.
    tightens: ApiKey | None = None

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if cleaned.get("expires") == ON and not cleaned.get("expires_at"):
            self._complain("expires_at", "Choose a date and time.")
        elif cleaned.get("expires") == ON:
            moment = self._expiry()
            if moment != self.initial.get("kept_expiry"):
                show_more_errors(self, lambda: read_expiry(moment))
        if "label" in cleaned:
            label = cleaned["label"]
            show_more_errors(self, lambda: read_line(label, field="label", max_chars=LABEL_CHARS))
        if "scopes" in cleaned:
            show_more_errors(self, lambda: read_scopes(cleaned["scopes"]))
        stored = self.tightens
        if stored is not None and self.errors:
            values = self._reach_within(stored, cleaned) | {"workspace": stored.workspace}
            show_more_errors(self, lambda: check_tightened(ApiKey(**values), stored))
        return cleaned

    def _reach_within(self, holder: ApiKey | DeveloperKeyPolicy, cleaned: FormValues) -> FormValues:
        """Return what the key would have that decides how far it reaches. What cannot be read is as
        the holder has it: nothing is to be said of it."""
        names = (*RANGES, *SPENDING)
        limits = {name: cleaned.get(name, getattr(holder, name)) for name in names}
        wrong = self.errors.keys()
        reads_models = not wrong & {"models_mode", "allowed_models", "allowed_patterns"}
        reads_ips = not wrong & {"ips_mode", "allowed_ips"}
        values = limits | {
            "scopes": cleaned.get("scopes", []),
            "allowed_models": self.chosen_models() if reads_models else holder.allowed_models,
            "allowed_ips": self.chosen_networks() if reads_ips else holder.allowed_ips,
            "allows_chat_template": cleaned["allows_chat_template"],
        }
        if isinstance(holder, DeveloperKeyPolicy):
            return values
        reads_expiry = not wrong & {"expires", "expires_at"}
        return values | {
            "denied_models": written_lines(cleaned["denied_models"])
            if "denied_models" in cleaned
            else holder.denied_models,
            "denied_ips": written_networks(cleaned["denied_ips"])
            if "denied_ips" in cleaned
            else holder.denied_ips,
            "expires_at": self._expiry() if reads_expiry else holder.expires_at,
            "compat_profile": cleaned.get("compat_profile", holder.compat_profile),
            "allows_profile_override": cleaned["allows_profile_override"],
        }

    def rules(self) -> FormValues:
        """Return what keys.services takes, from a valid form."""
        data = self.cleaned_data
        return {
            "label": data["label"],
            "scopes": data["scopes"],
            "expires_at": self._expiry(),
            **self.access(),
        }

    def compatibility(self) -> FormValues:
        """Return what keys.services.set_compatibility takes, from a valid form."""
        return {name: self.cleaned_data[name] for name in COMPATIBILITY}

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


class NewKeyForm(KeyForm):
    """The same, and the secret: how it begins, or that it was issued elsewhere."""

    secret_mode = forms.ChoiceField(
        required=False,
        choices=[(NEW, "Create a new key"), (IMPORTED, "Import an existing key")],
        initial=NEW,
        widget=forms.RadioSelect,
        label="Secret",
    )
    owner = forms.ChoiceField(
        required=False,
        choices=[(MINE, "You"), (WORKSPACE, "The workspace (service key)")],
        initial=MINE,
        label="Owner",
        help_text="A service key keeps working when the person who created it leaves.",
    )
    key_prefix = forms.ChoiceField(
        required=False,
        label="Prefix",
        help_text="Some programs check it. It has no other effect.",
        widget=PrefixSelect(attrs={"data-key-prefix": True}),
    )
    secret = forms.CharField(
        required=False,
        strip=False,
        label="Key",
        help_text="The key as programs send it. They keep working with this base URL.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        initial: FormValues,
        models: Sequence[str],
        grantable: Collection[str],
        workspace: Workspace,
        policy: DeveloperKeyPolicy | None,
    ) -> None:
        """policy: the most that the key may do, where its maker is under one. Who is not can import
        a key, and make one that is the workspace's own."""
        super().__init__(data, initial=initial, models=models, grantable=grantable)
        self._workspace, self._policy = workspace, policy
        offered = offered_prefixes()
        words = [(p, f"{p}… ({names})" if names else f"{p}…") for p, names in offered.items()]
        self._offer("key_prefix", [("", "Profile default"), *words])
        if policy is not None:
            del self.fields["secret_mode"], self.fields["secret"], self.fields["owner"]

    def clean(self) -> FormValues:
        cleaned = super().clean()
        if cleaned.get("secret_mode") == IMPORTED and not cleaned.get("secret"):
            self._complain("secret", "Paste the key.")
        self._show_more(cleaned)
        return cleaned

    def _show_more(self, cleaned: FormValues) -> None:
        """Show what the services would say of the fields that are well-formed."""
        if cleaned.get("secret_mode") == IMPORTED:
            secret = cleaned.get("secret", "")
            show_more_errors(self, lambda: read_imported_secret(secret, self._workspace))
        if not self.errors.keys() & {"expires", "expires_at"}:
            expires_at = self._expiry()
            show_more_errors(self, lambda: check_lifetime(self._workspace, expires_at))
        policy = self._policy
        if policy is not None:
            values = self._reach_within(policy, cleaned)
            show_more_errors(self, lambda: check_policy(ApiKey(**values), policy))

    def imported_secret(self) -> str:
        """Return the secret that was issued elsewhere, from a valid form; empty: make one."""
        data = self.cleaned_data
        return str(data["secret"]) if data.get("secret_mode") == IMPORTED else ""


def initial_of(key: ApiKey) -> FormValues:
    """Return what the form shows for a key as it is."""
    return {
        "label": key.label,
        "scopes": key.scopes,
        **initial_access(key),
        **initial_denied(key),
        "expires": NEVER if key.expires_at is None else ON,
        "expires_at": key.expires_at and key.expires_at.astimezone(UTC).replace(tzinfo=None),
        "kept_expiry": key.expires_at,
        "seen": rules_version(key),
        **_compatibility_of(key),
        **limits_of(key),
    }


def initial_of_new(
    grantable: Collection[str],
    policy: DeveloperKeyPolicy | None = None,
    max_days: int | None = None,
) -> FormValues:
    """Return what the form of a new key shows. policy: the most that it may do, where its maker
    is under one; the key begins with that. max_days: how long it may live, None for ever."""
    initial: FormValues = {"scopes": [name for name in default_scopes() if name in grantable]}
    if max_days is not None:
        offered = [name for name, days in EXPIRY_DAYS.items() if days <= max_days]
        initial["expires"] = offered[-1] if offered else ON
    return initial if policy is None else initial | limits_of(policy) | initial_access(policy)


def rules_version(key: ApiKey) -> str:
    """Return a token that differs when anything that the form shows differs."""
    rules = [key.label, key.scopes, key.allowed_models, key.allowed_ips, str(key.expires_at)]
    rules += [key.denied_models, key.denied_ips]
    return version_token([*rules, _compatibility_of(key), limits_of(key)])


def _compatibility_of(key: ApiKey) -> FormValues:
    return {name: getattr(key, name) for name in COMPATIBILITY}
