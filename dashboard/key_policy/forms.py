"""The form of the most that developers' keys may do. keys.services checks what is written."""

from __future__ import annotations

from django import forms

from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import KeyRulesForm, initial_access
from keys.limits import limits_of
from keys.models import DeveloperKeyPolicy
from keys.rules import read_scopes
from keys.services import read_max_keys


class KeyPolicyForm(KeyRulesForm):
    """Named as in keys.services.set_developer_key_policy."""

    max_keys = forms.IntegerField(
        required=False,
        label="Keys per developer",
        help_text="Keys revoked this month count too.",
        widget=forms.NumberInput(attrs={"min": "1", "placeholder": "No limit"}),
    )
    allows_chat_template = forms.BooleanField(
        required=False,
        label="Allow chat templates in requests",
        help_text="The provider runs the template as code. vLLM only.",
    )

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> FormValues:
        cleaned = super().clean()
        show_more_errors(self, lambda: read_max_keys(cleaned.get("max_keys")))
        if "scopes" in cleaned:
            show_more_errors(self, lambda: read_scopes(cleaned["scopes"]))
        return cleaned

    def policy(self) -> FormValues:
        """Return what the service takes, from a valid form."""
        data = self.cleaned_data
        return {
            "max_keys": data["max_keys"],
            "scopes": data["scopes"],
            "allowed_models": self.chosen_models(),
            "allowed_ips": self.chosen_networks(),
            "limits": self.limits(),
            "allows_chat_template": data["allows_chat_template"],
        }


def initial_of_policy(policy: DeveloperKeyPolicy, grantable: list[str]) -> FormValues:
    """Return what the form shows for a policy as it is."""
    return {
        "max_keys": policy.max_keys,
        "scopes": grantable if policy.scopes is None else policy.scopes,
        "allows_chat_template": policy.allows_chat_template,
        **initial_access(policy),
        **limits_of(policy),
        "seen": policy_version(policy),
    }


def policy_version(policy: DeveloperKeyPolicy) -> str:
    """Return a token that differs when anything that the form shows differs."""
    names = ("max_keys", "scopes", "allowed_models", "allowed_ips", "allows_chat_template")
    return version_token([[getattr(policy, name) for name in names], limits_of(policy)])
