"""How a provider is reached, as fields of its form. Secrets go in and never come out."""

from __future__ import annotations

from typing import TypedDict

from django import forms

from dashboard.forms.unrepeated import UnrepeatedTextarea
from gateway.models import Provider
from gateway.services.provider_connections import (
    PEM_CHARS,
    PROXY_CREDENTIAL_CHARS,
    PROXY_URL_CHARS,
    ConnectionFields,
)

CONNECTION_FIELDS = tuple(ConnectionFields.__annotations__)
PEM = {"rows": 3, "spellcheck": "false", "autocomplete": "off"}


class Secrets(TypedDict):
    proxy_credential: str
    client_key: str


def url_field(label: str, *, max_length: int, example: str) -> forms.CharField:
    """Return a URL that may be left empty; the service checks it."""
    attrs = {"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}
    return forms.CharField(
        max_length=max_length,
        required=False,
        label=label,
        widget=forms.TextInput(attrs=attrs | {"placeholder": example}),
    )


class ConnectionForm(forms.Form):
    """Fields of the section Proxy, HTTP/2 and certificates."""

    transport = forms.ChoiceField(
        choices=Provider.Transport.choices,
        required=False,
        help_text="Automatic uses httpx where a proxy, HTTP/2 or certificates need it.",
    )
    uses_http2 = forms.BooleanField(
        required=False, label="HTTP/2", help_text="Where the server offers it. Needs https."
    )
    proxy_url = url_field(
        "Proxy URL", max_length=PROXY_URL_CHARS, example="http://proxy.example.com:3128"
    )
    proxy_credential = forms.CharField(
        max_length=PROXY_CREDENTIAL_CHARS,
        required=False,
        label="Password for the proxy",
        help_text="As name:password. Stored encrypted. Never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    ca_certificate = forms.CharField(
        max_length=PEM_CHARS,
        required=False,
        label="CA certificate",
        help_text="PEM. Trusted for this provider instead of the system’s CAs.",  # noqa: RUF001
        widget=forms.Textarea(attrs=PEM),
    )
    client_certificate = forms.CharField(
        max_length=PEM_CHARS,
        required=False,
        label="Client certificate",
        help_text="PEM, with its chain.",
        widget=forms.Textarea(attrs=PEM),
    )
    client_key = forms.CharField(
        max_length=PEM_CHARS,
        required=False,
        label="Private key of the client certificate",
        help_text="PEM, without a passphrase. Stored encrypted. Never shown again.",
        widget=UnrepeatedTextarea(attrs=PEM),
    )

    def connection(self) -> ConnectionFields:
        """Return the fields of set_connection."""
        data = self.cleaned_data
        return {
            "transport": data["transport"] or Provider.Transport.AUTOMATIC,
            "uses_http2": data["uses_http2"],
            "proxy_url": data["proxy_url"],
            "ca_certificate": data["ca_certificate"],
            "client_certificate": data["client_certificate"],
        }

    def connection_secrets(self) -> Secrets:
        data = self.cleaned_data
        return {"proxy_credential": data["proxy_credential"], "client_key": data["client_key"]}

    def changes_connection(self, provider: Provider) -> bool:
        is_other = any(
            str(getattr(provider, name)).strip() != str(value).replace("\r\n", "\n").strip()
            for name, value in self.connection().items()
        )
        return is_other or any(self.connection_secrets().values())

    def has_connection_errors(self) -> bool:
        """True when the section has to be open for its errors to be seen."""
        return any(name in self.errors for name in (*CONNECTION_FIELDS, *Secrets.__annotations__))
