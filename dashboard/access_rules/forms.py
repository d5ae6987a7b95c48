"""The form of a workspace's access rules. keys.access checks what is written."""

from __future__ import annotations

from functools import partial

from django import forms

from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import (
    DenyForm,
    initial_access,
    initial_denied,
    lines_field,
    written_lines,
    written_networks,
)
from keys.access import read_countries, read_key_days, read_user_agents
from keys.fetch_hosts import read_allowed_hosts, read_denied_hosts
from keys.models import AccessRules

COUNTRIES = ("allowed_countries", "denied_countries")
HOSTS = ("allowed_hosts", "denied_hosts")
USER_AGENTS = "denied_user_agents"


def _countries_field(label: str, help_text: str) -> forms.CharField:
    attrs = {"autocomplete": "off", "spellcheck": "false", "placeholder": "DE, GB"}
    return forms.CharField(
        required=False, label=label, help_text=help_text, widget=forms.TextInput(attrs=attrs)
    )


class AccessRulesForm(DenyForm):
    """Named as in keys.access.set_access_rules."""

    denied_user_agents = lines_field(
        "Blocked user agents",
        "One per line: a part of the User-Agent header, or all of it with * for any characters.",
        "python-requests\ncurl/*",
    )
    allowed_countries = _countries_field(
        "Allowed countries", "ISO 3166 codes. XX stands for unknown. Default: all countries."
    )
    denied_countries = _countries_field(
        "Denied countries", "ISO 3166 codes. Add XX to refuse calls from an unknown country."
    )
    allowed_hosts = lines_field(
        "Allowed hosts",
        "One per line. *.example.com covers all names under example.com, not example.com itself."
        " Default: all public hosts.",
        "example.com\n*.example.com",
    )
    denied_hosts = lines_field(
        "Denied hosts",
        "One per line, as above. A denied host is refused even if it is allowed. * denies all.",
        "*.example.net",
    )
    max_key_days = forms.IntegerField(
        required=False,
        label="Maximum key lifetime (days)",
        help_text="New keys must expire within this time. Existing keys that live longer expire"
        " this many days from now.",
        widget=forms.NumberInput(attrs={"min": "1", "placeholder": "No limit"}),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> FormValues:
        cleaned = super().clean()
        lines = {name: written_lines(cleaned.get(name, "")) for name in (*HOSTS, USER_AGENTS)}
        codes = {name: written_networks(cleaned.get(name, "")) for name in COUNTRIES}
        show_more_errors(self, lambda: read_user_agents(lines[USER_AGENTS]))
        show_more_errors(self, lambda: read_allowed_hosts(lines["allowed_hosts"]))
        show_more_errors(self, lambda: read_denied_hosts(lines["denied_hosts"]))
        show_more_errors(self, lambda: read_key_days(cleaned.get("max_key_days")))
        for name in COUNTRIES:
            show_more_errors(self, partial(read_countries, codes[name], name))
        return cleaned

    def rules(self) -> FormValues:
        """Return what the service takes, from a valid form."""
        data = self.cleaned_data
        return {
            **self.access(),
            "denied_user_agents": written_lines(data["denied_user_agents"]),
            "max_key_days": data["max_key_days"],
            **{name: written_lines(data[name]) for name in HOSTS},
            **{name: written_networks(data[name]) for name in COUNTRIES},
        }


def initial_rules(rules: AccessRules) -> FormValues:
    """Return what the form shows for rules as they are."""
    return {
        **initial_access(rules),
        **initial_denied(rules),
        "denied_user_agents": "\n".join(rules.denied_user_agents),
        **{name: ", ".join(getattr(rules, name)) for name in COUNTRIES},
        **{name: "\n".join(getattr(rules, name)) for name in HOSTS},
        "max_key_days": rules.max_key_days,
        "seen": rules_version(rules),
    }


def rules_version(rules: AccessRules) -> str:
    """Return a token that differs when anything that the form shows differs."""
    names = ("allowed_models", "denied_models", "allowed_ips", "denied_ips", "denied_user_agents")
    return version_token(
        [getattr(rules, name) for name in (*names, *COUNTRIES, *HOSTS, "max_key_days")]
    )
