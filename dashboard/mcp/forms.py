"""The forms of an MCP server. gateway.services.mcp_servers checks what is written."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import lines_field, written_lines
from gateway.models import McpServer

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class McpServerForm(forms.Form):
    """Named as in gateway.services.mcp_servers. sets_price: the person may set what a use costs."""

    name = forms.CharField(
        max_length=30,
        label="Name",
        help_text="Lower-case letters, digits and hyphens. Requests use mcp: and this name.",
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "weather"}),
    )
    url = forms.CharField(
        max_length=400,
        label="URL",
        help_text="The streamable HTTP endpoint. An operator must allow private addresses.",
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "https://mcp.example.com/mcp"}),
    )
    header = forms.CharField(
        max_length=60,
        required=False,
        label="Credential header",
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "authorization"}),
    )
    credential = forms.CharField(
        required=False,
        label="Credential",
        help_text="The full value of the header, such as Bearer TOKEN. Stored encrypted.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    forget_credential = forms.BooleanField(required=False, label="Remove the credential")
    allowed_tools = lines_field(
        "Allowed tools", "One name per line. Default: all tools of the server.", "forecast"
    )
    price_nusd = UsdField(
        empty="0", label="Price per use (USD)", help_text="Charged to the workspace. Default: free."
    )
    by_default = forms.BooleanField(
        required=False,
        label="Use in all calls",
        help_text="All calls can use its tools. A request can exclude them with enabled: false.",
    )
    enabled = forms.BooleanField(required=False, label="Enabled")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: FormValues | None, row: McpServer | None, *, sets_price: bool) -> None:
        super().__init__(data, initial=_initial(row))
        self.row = row
        if row is not None:
            del self.fields["name"]
            if row.secret is not None:
                hint = f" It ends in {row.hint}." if row.hint else ""
                self.fields["credential"].help_text = f"Leave empty to keep it.{hint}"
        if row is None or row.secret is None:
            del self.fields["forget_credential"]
        if not sets_price:
            del self.fields["price_nusd"]

    def take(self, error: ValidationError) -> None:
        show_service_error(self, error)

    def values(self) -> FormValues:
        """Return what the service takes, from a valid form."""
        data = self.cleaned_data
        values: FormValues = {
            "url": data["url"],
            "header": data["header"] or "authorization",
            "allowed_tools": written_lines(data["allowed_tools"]),
            "by_default": data["by_default"],
            "enabled": data["enabled"],
        }
        if "price_nusd" in self.fields:
            values["price_nusd"] = data["price_nusd"] or 0
        if self.row is None:
            return values | {"name": data["name"], "credential": data["credential"]}
        forgets = data.get("forget_credential")
        return values | {"credential": data["credential"] or ("" if forgets else None)}


def server_version(row: McpServer) -> str:
    """Return a token that differs when anything that the form shows differs."""
    names = ("url", "header", "hint", "allowed_tools", "price_nusd", "by_default", "enabled")
    return version_token([getattr(row, name) for name in names])


def _initial(row: McpServer | None) -> FormValues:
    if row is None:
        return {"enabled": True}
    return {
        "url": row.url,
        "header": row.header,
        "allowed_tools": "\n".join(row.allowed_tools),
        "price_nusd": row.price_nusd or None,
        "by_default": row.by_default,
        "enabled": row.enabled,
        "seen": server_version(row),
    }
