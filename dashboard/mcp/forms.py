"""The forms of an MCP server. gateway.services.mcp_servers checks what is written."""

from __future__ import annotations

from django import forms

from dashboard.forms.remote_form import RemoteForm, credential_field, plain_field
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import lines_field, written_lines
from gateway.models import McpServer
from gateway.services.mcp_servers import check_credential, check_fields

AUTHORIZATION = "authorization"


class McpServerForm(RemoteForm):
    """Named as in gateway.services.mcp_servers. sets_price: the person may set what a use costs."""

    fixed = ("name",)

    name = plain_field(
        "Name",
        "Lower-case letters, digits and hyphens. Requests use mcp: and this name.",
        max_length=30,
        example="weather",
    )
    url = plain_field(
        "URL",
        "The streamable HTTP endpoint. It is asked for its tools when you add it. Private addresses"
        " are forbidden by default; an operator can allow the network.",
        max_length=400,
        example="https://mcp.example.com/mcp",
    )
    header = plain_field(
        "Credential header",
        "Default: authorization.",
        max_length=60,
        example="authorization",
        required=False,
    )
    credential = credential_field(
        "The full value of the header, such as Bearer TOKEN. Stored encrypted."
    )
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

    def __init__(self, data: FormValues | None, row: McpServer | None, *, sets_price: bool) -> None:
        super().__init__(data, row, _initial(row))
        if row is not None and row.hint:
            self.fields["credential"].help_text += f" It ends in {row.hint}."
        if not sets_price:
            del self.fields["price_nusd"]

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if not self.errors:
            return cleaned
        row = McpServer(
            name=cleaned.get("name", ""),
            url=cleaned.get("url", ""),
            header=(cleaned.get("header") or AUTHORIZATION).lower(),
            allowed_tools=written_lines(cleaned.get("allowed_tools", "")),
            price_nusd=cleaned.get("price_nusd") or 0,
        )
        show_more_errors(self, lambda: check_fields(row))
        show_more_errors(self, lambda: check_credential(cleaned.get("credential", "").strip()))
        return cleaned

    def values(self) -> FormValues:
        """Return what the service takes, from a valid form."""
        data = self.cleaned_data
        values: FormValues = {
            "url": data["url"],
            "header": data["header"] or AUTHORIZATION,
            "allowed_tools": written_lines(data["allowed_tools"]),
            "by_default": data["by_default"],
            "enabled": data["enabled"],
        }
        if "price_nusd" in self.fields:
            values["price_nusd"] = data["price_nusd"] or 0
        if self.row is None:
            return values | {"name": data["name"], "credential": data["credential"]}
        return values | {"credential": self.changed_credential()}


def server_version(row: McpServer) -> str:
    """Return a token that differs when anything that the form changes differs."""
    names = ("url", "header", "allowed_tools", "price_nusd", "by_default", "enabled")
    secret = bytes(row.secret or b"").hex()
    return version_token([secret, *(getattr(row, name) for name in names)])


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
