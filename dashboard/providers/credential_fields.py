"""What a provider is shown, as fields of a form: they depend on the kind. Secrets go in and never
come out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django import forms

from dashboard.forms.unrepeated import SECRET_INPUTS, UnrepeatedTextarea
from gateway.core.credential_texts import AWS, CREDENTIAL_CHARS, DYNAMIC, ENTRA, ENV, GOOGLE
from gateway.models import ProviderCredential

STORED = ProviderCredential.Source.STORED
_NAMES = {"autocomplete": "off", "spellcheck": "false"}


class CredentialParts(forms.Form):
    """The fields of one credential. kind: of the credential (ProviderKind.credential)."""

    credential_source = forms.ChoiceField(
        choices=ProviderCredential.Source.choices, required=False, label="Credential source"
    )
    credential_variable = forms.CharField(
        max_length=100,
        required=False,
        label="Variable name",
        help_text="Environment variable of the server, or name in tensorzero::credentials.",
        widget=forms.TextInput(attrs=_NAMES | {"placeholder": "PROVIDER_KEY"}),
    )
    credential = forms.CharField(
        max_length=CREDENTIAL_CHARS,
        required=False,
        help_text="Stored encrypted. Never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def add_parts(self, kind: str) -> None:
        """Add the fields that this kind of credential has beside a key."""
        if kind == GOOGLE:
            self.fields["credential"].label = "Service account key"
            self.fields[
                "credential"
            ].help_text = "The JSON file of the key. Stored encrypted. Never shown again."
            self.fields["credential"].widget = UnrepeatedTextarea(attrs=_NAMES | {"rows": 4})
        elif kind in _PARTS:
            self.fields["credential"].label = "API key"
        if kind == AWS:
            self.fields[
                "credential_variable"
            ].help_text += (
                " With AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are read too."
            )
        self._parts: Mapping[str, tuple[str, str, bool]] = _PARTS.get(kind, {})
        for name, (label, help_text, is_secret) in self._parts.items():
            secret = forms.PasswordInput(attrs={"autocomplete": "new-password"})
            self.fields[f"part_{name}"] = forms.CharField(
                max_length=4_096,
                required=False,
                label=label,
                help_text=help_text,
                widget=secret if is_secret else forms.TextInput(attrs=_NAMES),
            )

    def secret_fields(self) -> list[str]:
        """Return the names of the fields whose value is never shown."""
        return [name for name, one in self.fields.items() if isinstance(one.widget, SECRET_INPUTS)]

    def part_fields(self) -> list[forms.BoundField]:
        return [self[f"part_{name}"] for name in self._parts]

    def has_credential_errors(self) -> bool:
        """True when it cannot be told what was entered."""
        names = ("credential_source", "credential_variable", "credential")
        return not self.errors.keys().isdisjoint({*names, *(f"part_{one}" for one in self._parts)})

    def credential_text(self) -> str:
        """Return what was entered, as services take it; empty for nothing."""
        data = self.cleaned_data
        source = data["credential_source"] or STORED
        if source != STORED:
            prefix = ENV if source == ProviderCredential.Source.ENV else DYNAMIC
            return f"{prefix}{data['credential_variable'].strip()}"
        parts = {name: data[f"part_{name}"].strip() for name in self._parts}
        given = {name: text for name, text in parts.items() if text}
        return data["credential"].strip() or (json.dumps(given) if given else "")


# By kind: the parts of a credential that is no key, each with its label, a sentence about it, and
# whether it is secret.
_PARTS: dict[str, dict[str, tuple[str, str, bool]]] = {
    AWS: {
        "access_key_id": ("Access key ID", "Instead of an API key.", False),
        "secret_access_key": ("Secret access key", "", True),
        "session_token": ("Session token", "Only for temporary keys.", True),
        "role_arn": ("Role to assume", "ARN of an IAM role, assumed with STS.", False),
        "external_id": ("External ID", "If the role requires one.", False),
    },
    ENTRA: {
        "tenant_id": ("Tenant ID", "Microsoft Entra ID, instead of an API key.", False),
        "client_id": ("Client ID", "Application (client) ID.", False),
        "client_secret": ("Client secret", "", True),
    },
}

# What no form is sent for, but to be saved.
SECRET_FIELDS = (
    "credential",
    *(
        f"part_{name}"
        for parts in _PARTS.values()
        for name, (*_, is_secret) in parts.items()
        if is_secret
    ),
)
