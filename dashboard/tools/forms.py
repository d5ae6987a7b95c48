"""A server tool as a form, and the form of its test. A credential goes in and never comes out."""

from __future__ import annotations

import json

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.json_text import read_json
from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from gateway.models import ToolSetting
from gateway.services.addresses import URL_CHARS, read_base_url
from gateway.services.tool_settings import ToolFields, ToolLine, check_price, read_documents
from gateway.services.tool_tests import INPUT_CHARS, INPUTS
from gateway.tools.backends import LABELS
from gateway.tools.base import ServerTool

DOCUMENTS_CHARS = 1_000_000
_DOCUMENTS = '[{"title": "A", "url": "https://example.com", "text": "B"}]'
_VERSIONED = ("enabled", "backend", "base_url", "model", "documents", "price_nusd", "hint")


class ToolForm(forms.Form):
    """It has the fields that the tool uses."""

    enabled = forms.BooleanField(
        required=False, label="Enabled", help_text="Disabling it does not interrupt running calls."
    )
    price_nusd = UsdField(empty="0.00", label="Price (USD)", help_text="")
    backend = forms.ChoiceField(required=False, label="Service")
    base_url = forms.CharField(
        required=False,
        max_length=URL_CHARS,
        label="Base URL",
        help_text="Default: the public URL of the service. Required for SearXNG.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    credential = forms.CharField(
        required=False,
        max_length=4096,
        label="API key",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    documents = forms.CharField(
        required=False,
        max_length=DOCUMENTS_CHARS,
        label="Documents",
        help_text='For the static index: a JSON list of {"title": …, "url": …, "text": …}.',
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    model = forms.ChoiceField(
        required=False, label="Image model", help_text="Its provider bills the images to you."
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None, line: ToolLine, models: list[str]) -> None:
        super().__init__(data, initial=_initial(line))
        tool = line.tool
        self.fields["price_nusd"].help_text = f"Per {tool.unit}. Leave empty for free."
        if tool.backends:
            services = [(name, LABELS[name]) for name in tool.backends]
            self.fields["backend"].choices = [("", "None"), *services]  # type: ignore[attr-defined]
            if line.setting is not None and line.setting.secret is not None:
                hint = f"Stored, ends in {line.setting.hint}. " if line.setting.hint else "Stored. "
                self.fields["credential"].help_text = f"{hint}Leave empty to keep it."
        else:
            for name in ("backend", "base_url", "credential", "documents"):
                del self.fields[name]
        if tool.needs_model:
            chosen = [("", "None"), *((name, name) for name in models)]
            self.fields["model"].choices = chosen  # type: ignore[attr-defined]
        else:
            del self.fields["model"]

    def clean_documents(self) -> list[dict[str, str]]:
        text = self.cleaned_data["documents"].strip()
        given = read_json(text, example=_DOCUMENTS) if text else []
        try:
            return read_documents(given)
        except ValidationError as error:
            raise ValidationError(error.messages) from None

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        price_nusd, base_url = cleaned.get("price_nusd") or 0, cleaned.get("base_url")
        show_more_errors(self, lambda: check_price(price_nusd))
        if base_url:
            show_more_errors(self, lambda: read_base_url(base_url, kind=""))
        return cleaned

    def values(self) -> ToolFields:
        """Return the fields of set_tool."""
        data = self.cleaned_data
        fields: ToolFields = {
            "enabled": data["enabled"],
            "price_nusd": data["price_nusd"] or 0,
        }
        if "backend" in self.fields:
            fields["backend"] = data["backend"]
            fields["base_url"] = data["base_url"]
            fields["documents"] = data["documents"]
        if "model" in self.fields:
            fields["model"] = data["model"]
        return fields

    def changed_credential(self) -> str | None:
        """Return what takes the place of the credential there is, None where nothing does."""
        return self.cleaned_data.get("credential") or None

    def take(self, error: ValidationError) -> None:
        show_service_error(self, error)


class ToolTestForm(forms.Form):
    """What a tool is given for its test; nothing for a tool that takes nothing."""

    text = forms.CharField(max_length=INPUT_CHARS, required=False)

    def __init__(self, data: QueryDict | None, tool: ServerTool) -> None:
        super().__init__(data)
        self.has_text = tool.name in INPUTS
        if self.has_text:
            _, label, initial = INPUTS[tool.name]
            self.fields["text"].label = label
            self.fields["text"].initial = initial
            self.fields["text"].required = True


def tool_version(setting: ToolSetting | None) -> str:
    """Return a token that differs when anything that the form shows differs."""
    if setting is None:
        return version_token([])
    return version_token([getattr(setting, name) for name in _VERSIONED])


def _initial(line: ToolLine) -> dict[str, object]:
    setting = line.setting
    if setting is None:
        return {"enabled": True, "price_nusd": line.price_nusd, "seen": tool_version(None)}
    documents = json.dumps(setting.documents, indent=1, ensure_ascii=False)
    return {
        "enabled": setting.enabled,
        "price_nusd": setting.price_nusd,
        "backend": setting.backend,
        "base_url": setting.base_url,
        "documents": documents if setting.documents else "",
        "model": setting.model,
        "seen": tool_version(setting),
    }
