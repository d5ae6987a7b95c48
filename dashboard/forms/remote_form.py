"""What the forms of MCP servers and of processor services share: a URL, and a credential for it."""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.core.exceptions import ValidationError

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.values import FormValues
from gateway.models import McpServer, ProcessorService


def plain_field(
    label: str, help_text: str = "", *, max_length: int, example: str, required: bool = True
) -> forms.CharField:
    """Return a line of text that browsers do not complete or correct."""
    attrs = {"autocomplete": "off", "spellcheck": "false", "placeholder": example}
    return forms.CharField(
        max_length=max_length,
        required=required,
        label=label,
        help_text=help_text,
        widget=forms.TextInput(attrs=attrs),
    )


def credential_field(help_text: str, *, max_length: int | None = None) -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=max_length,
        label="Credential",
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class RemoteForm(forms.Form):
    """row: None for a new one. Subclasses add `url` and `credential`."""

    # Fields of a new one alone.
    fixed: ClassVar[tuple[str, ...]]

    forget_credential = forms.BooleanField(required=False, label="Remove the credential")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        data: FormValues | None,
        row: McpServer | ProcessorService | None,
        initial: FormValues,
    ) -> None:
        super().__init__(data, initial=initial)
        self.row = row
        for name in self.fixed if row is not None else ():
            del self.fields[name]
        if row is not None and row.secret is not None:
            self.fields["credential"].help_text = "Leave empty to keep it."
        else:
            del self.fields["forget_credential"]

    def take(self, error: ValidationError) -> None:
        show_service_error(self, error)

    def changed_credential(self) -> str | None:
        """Return the credential to be had from now on; None to keep what there is."""
        forgets = self.cleaned_data.get("forget_credential")
        return self.cleaned_data["credential"] or ("" if forgets else None)
