"""A provider as a form. A credential goes in and never comes out."""

from __future__ import annotations

from typing import cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.providers.connection_form import CONNECTION_FIELDS, ConnectionForm, url_field
from dashboard.providers.credential_fields import CredentialParts
from gateway.models import Provider
from gateway.providers import catalogue
from gateway.providers.catalogue import ProviderKind, ProviderSetting
from gateway.services.addresses import URL_CHARS, read_base_url
from gateway.services.provider_connections import (
    ConnectionFields,
    check_connection,
    read_connection_fields,
)
from gateway.services.provider_credentials import read_new_credential
from gateway.services.provider_settings import FIELD_PREFIX, SETTING_CHARS, read_settings
from gateway.services.providers import (
    check_location,
    check_new_credential,
    read_first_base_url,
)
from gateway.services.row_names import check_name

VLLM = "vllm"
# In the token of a provider's version, before that of its credentials.
_CREDENTIALS = "-"
_FIELDS = ("structured_dialect", "is_local", "location", "allows_passthrough")


class ProviderForm(ConnectionForm, CredentialParts):
    """Everything about a provider but its name and kind. It has a field for each setting that the
    kind declares."""

    base_url = url_field("Base URL", max_length=URL_CHARS, example="https://llm.example.com/v1")
    structured_dialect = forms.ChoiceField(
        choices=Provider.StructuredDialect.choices,
        initial=Provider.StructuredDialect.AUTO,
        required=False,
        label="Guided decoding",
        help_text="The parameter names that this vLLM takes. Callers can use either form.",
    )
    is_local = forms.BooleanField(
        required=False,
        label="On-premises",
        help_text="Shown with its models. Calls with require_local go to such providers only.",
    )
    location = forms.CharField(
        label="Location",
        max_length=60,
        required=False,
        help_text="Data center region, such as eu-west.",
    )
    allows_passthrough = forms.BooleanField(
        required=False,
        label="Allow calls by provider name",
        help_text="Callers can use provider/model with a provider model ID of one of your models.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: QueryDict | None, kind: ProviderKind | None, initial: FormValues
    ) -> None:
        super().__init__(data, initial=initial)
        self.add_parts("key" if kind is None else kind.credential)
        self._kind = kind
        self._provider: Provider | None = self.initial.get("provider")
        self._settings = () if kind is None else kind.settings
        for setting in self._settings:
            self.fields[f"{FIELD_PREFIX}{setting.name}"] = _field_of(setting)
        if kind is not None and kind.base_url:
            self.fields["base_url"].help_text = f"Default: {kind.base_url}"
            self.fields["base_url"].widget.attrs["placeholder"] = ""
        if any(setting.label == self.fields["location"].label for setting in self._settings):
            self.fields["location"].label = "Data center"
        # The built-in one has no address, and is shown nothing.
        self.is_remote = kind is None or kind.name != catalogue.SIMULATED
        has_parts = bool(self.part_fields())
        self.credential_is_optional = has_parts or (kind is not None and not kind.needs_credential)
        self.has_base_url = kind is not None and bool(kind.base_url)
        self.is_vllm = kind is not None and kind.name == VLLM

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if self._kind is not None:
            self._show_more(cleaned, self._kind)
        return cleaned

    def _show_more(self, cleaned: FormValues, kind: ProviderKind) -> None:
        """Show what the services would say of the fields that are well-formed: one service is asked
        after another, and the first to refuse hides what the others would say."""
        show_more_errors(self, lambda: self._check_base_url(cleaned.get("base_url", ""), kind))
        show_more_errors(self, lambda: read_settings(kind, self._given_settings()))
        show_more_errors(self, lambda: check_location(cleaned.get("location", "")))
        if not self.has_credential_errors():
            show_more_errors(self, lambda: self._check_credential(self.credential_text(), kind))
        show_more_errors(self, lambda: read_connection_fields(self._well_formed(cleaned)))
        show_more_errors(
            self,
            lambda: check_connection(
                self._provider or Provider(kind=kind.name),
                self._well_formed(cleaned),
                proxy_credential=cleaned.get("proxy_credential", ""),
                client_key=cleaned.get("client_key", ""),
            ),
        )

    def _check_base_url(self, text: str, kind: ProviderKind) -> None:
        """Raise ValidationError for an address that cannot be taken."""
        if text.strip():
            read_base_url(text.strip(), kind=kind.name)

    def _check_credential(self, text: str, kind: ProviderKind) -> None:
        """Raise ValidationError for what cannot be the credential. text: empty to keep it."""
        if text:
            read_new_credential(kind.credential, text)

    def _given_settings(self) -> dict[str, str]:
        return {one.name: self.data.get(f"{FIELD_PREFIX}{one.name}", "") for one in self._settings}

    def _well_formed(self, cleaned: FormValues) -> ConnectionFields:
        """Return the fields of the connection that have no error so far, as services take them."""
        fields = {name: cleaned[name] for name in CONNECTION_FIELDS if name in cleaned}
        if "transport" in fields:
            fields["transport"] = fields["transport"] or Provider.Transport.AUTOMATIC
        return cast(ConnectionFields, fields)

    def setting_fields(self) -> list[tuple[forms.BoundField, bool]]:
        """Return the field of each setting, and whether it may be left empty."""
        return [
            (self[f"{FIELD_PREFIX}{setting.name}"], not setting.required or bool(setting.default))
            for setting in self._settings
        ]

    def entered_settings(self) -> dict[str, str]:
        """Return the settings by name, as the services take them."""
        return {
            setting.name: self.cleaned_data[f"{FIELD_PREFIX}{setting.name}"]
            for setting in self._settings
        }

    def described(self) -> FormValues:
        """Return the fields of update_provider and add_provider."""
        fields = {name: self.cleaned_data[name] for name in _FIELDS}
        if not fields["structured_dialect"]:  # only vLLM's form has it
            del fields["structured_dialect"]
        return fields

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error)


class NewProviderForm(ProviderForm):
    """A provider that does not exist yet. kind: the chosen one, whose fields are shown."""

    name = forms.CharField(
        max_length=60,
        help_text="Letters, digits, - and _.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    kind = forms.ChoiceField(
        choices=lambda: [(kind.name, kind.label) for kind in catalogue.BY_NAME.values()]
    )

    def __init__(
        self, data: QueryDict | None, kind: ProviderKind | None, initial: FormValues
    ) -> None:
        super().__init__(data, kind, initial)
        for name in self.secret_fields():
            # What was typed stays in the page when another kind is chosen: nobody else knows it.
            # A key that is one line does not become the file of a service account.
            widget = self.fields[name].widget
            if name != "credential" or isinstance(widget, forms.PasswordInput):
                widget.attrs["hx-preserve"] = "true"

    def _show_more(self, cleaned: FormValues, kind: ProviderKind) -> None:
        super()._show_more(cleaned, kind)
        show_more_errors(self, lambda: check_name(cleaned.get("name", ""), Provider.objects.all()))

    def _check_base_url(self, text: str, kind: ProviderKind) -> None:
        read_first_base_url(kind, text, read_settings(kind, self._given_settings()))

    def _check_credential(self, text: str, kind: ProviderKind) -> None:
        check_new_credential(kind, text)

    @classmethod
    def of_kind(cls, kind: ProviderKind, entered: QueryDict) -> NewProviderForm:
        """Return the form of a kind that was chosen just now. entered: what was in the form before,
        which is kept in the fields that this kind has too, but for secrets."""
        form = cls(None, kind, {"kind": kind.name})
        for name in form.fields.keys() - {"kind", *form.secret_fields()}:
            if isinstance(form.fields[name], forms.BooleanField):
                form.initial[name] = name in entered
            elif text := entered.get(name):
                form.initial[name] = text
        return form


def _field_of(setting: ProviderSetting) -> forms.Field:
    """Return the form's field of a setting. The service says what is wrong with what is entered."""
    if setting.choices:
        nothing = [] if setting.default or setting.required else [("", "None")]
        return forms.ChoiceField(
            choices=nothing + [(choice, choice) for choice in setting.choices],
            initial=setting.default,
            required=False,
            label=setting.label,
            help_text=setting.help,
        )
    default = f"Default: {setting.default}." if setting.default else ""
    return forms.CharField(
        max_length=SETTING_CHARS,
        required=False,
        label=setting.label,
        help_text=" ".join(filter(None, (setting.help, default))),
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "spellcheck": "false",
                "placeholder": setting.example,
            }
        ),
    )


def initial_of_provider(provider: Provider) -> FormValues:
    """Return what the form shows for a provider as it is."""
    fields = {name: getattr(provider, name) for name in (*_FIELDS, *CONNECTION_FIELDS)}
    settings = {f"{FIELD_PREFIX}{name}": value for name, value in provider.settings.items()}
    seen = provider_version(provider)
    shown = {"base_url": provider.base_url, **settings, **fields, "seen": seen}
    return {**shown, "provider": provider}


def provider_version(provider: Provider) -> str:
    """Return a token that differs when anything that the form shows differs, or a credential."""
    names = ("base_url", "settings", *_FIELDS, *CONNECTION_FIELDS)
    shown = version_token([getattr(provider, name) for name in names])
    return f"{shown}{_CREDENTIALS}{_credentials_version(provider)}"


def version_for(form: ProviderForm, provider: Provider) -> str:
    """Return the token of the provider as it is, for a valid form of it. Credentials count only
    where the form replaces them: it overwrites nothing of theirs otherwise."""
    version = provider_version(provider)
    if form.credential_text():
        return version
    shown = version.partition(_CREDENTIALS)[0]
    return shown + "".join(form.cleaned_data["seen"].partition(_CREDENTIALS)[1:])


def _credentials_version(provider: Provider) -> str:
    rows = provider.credentials.order_by("pk")
    fields = rows.values_list("pk", "source", "variable", "secret")
    return version_token(
        [
            (str(pk), source, variable, secret and bytes(secret).hex())
            for pk, source, variable, secret in fields
        ]
    )
