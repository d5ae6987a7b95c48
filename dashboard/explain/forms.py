"""The form of a call to explain. Fields are named as in POST /v1/admission/explain, so that what it
says of a question falls into place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from dashboard.forms.values import FormValues
from dashboard.http.query_params import read_id
from keys.models import ApiKey

# Of keys and models; others can be entered, or have a link of their own.
OFFERED = 200
BODY_CHARS = 100_000
# What is taken from the address of the page.
PREFILLED = ("key", "model", "endpoint", "address", "country", "user_agent")
NO_COUNTRY = "Ignored: this installation has no TOLLHOUSE_COUNTRY_HEADER."
_BODY = msgspec.json.Decoder(dict[str, msgspec.Raw])


class ModelInput(forms.TextInput):
    """A text with suggestions, in a list that the template writes."""

    def __init__(self) -> None:
        super().__init__(attrs={"list": "explain-models", "autocomplete": "off"})


class ExplainForm(forms.Form):
    key = forms.ChoiceField(label="API key", error_messages={"required": "Choose a key."})
    model = forms.CharField(
        required=False,
        max_length=256,
        label="Model",
        help_text="Default: the model of the body.",
        widget=ModelInput,
    )
    endpoint = forms.ChoiceField(label="Endpoint")
    address = forms.GenericIPAddressField(
        required=False,
        label="Client address",
        help_text="Default: your own.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "203.0.113.7"}),
        error_messages={"invalid": "Enter an IPv4 or IPv6 address, such as 203.0.113.7."},
    )
    country = forms.RegexField(
        r"^[A-Za-z][A-Za-z0-9]\Z",
        required=False,
        label="Country",
        help_text="Country code, as your proxy sends it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "DE"}),
        error_messages={"invalid": "Enter a two-letter country code, such as DE."},
    )
    user_agent = forms.RegexField(
        r"^[\x20-\x7e]*\Z",
        required=False,
        max_length=1024,
        label="User agent",
        help_text="Default: none.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"invalid": "Use printable ASCII characters only."},
    )
    body = forms.CharField(
        required=False,
        max_length=BODY_CHARS,
        label="Body",
        help_text="JSON object. Default: a short example of the endpoint.",
        widget=forms.Textarea(
            attrs={
                "rows": 6,
                "spellcheck": "false",
                "placeholder": '{"messages": [{"role": "user", "content": "Hi"}]}',
            }
        ),
    )

    def __init__(
        self,
        data: Mapping[str, str] | None,
        *,
        initial: FormValues,
        keys: QuerySet[ApiKey],
        endpoints: Sequence[tuple[str, str]],
    ) -> None:
        """keys: those that the person may ask about."""
        super().__init__(data, initial=initial)
        self._keys = keys
        chosen = read_id((data or initial).get("key", ""))
        self._offer("key", [("", "Choose a key"), *_key_choices(keys, chosen)])
        self._offer("endpoint", endpoints)
        if not (settings.COUNTRY_HEADER and settings.TRUSTED_PROXIES):
            self.fields["country"].help_text = NO_COUNTRY

    def clean_body(self) -> dict[str, msgspec.Raw] | None:
        text = self.cleaned_data["body"]
        if not text:
            return None
        try:
            return _BODY.decode(text)
        except msgspec.ValidationError:
            raise ValidationError("Enter a JSON object: {…}.") from None
        except msgspec.DecodeError as error:
            raise ValidationError(f"This is not valid JSON: {str(error).rstrip('.')}.") from None
        except RecursionError:
            raise ValidationError("This is nested too deeply.") from None

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if not cleaned.get("model") and cleaned.get("body", {}) is None:
            self.add_error("model", "Enter a model, or a body that names one.")
        return cleaned

    def chosen_key(self) -> ApiKey | None:
        """Return the key of a valid form; None where it was removed just now."""
        return self._keys.filter(pk=self.cleaned_data["key"]).first()

    def question(self) -> dict[str, object]:
        """Return what is asked, from a valid form."""
        data = self.cleaned_data
        return {
            name: data[name]
            for name in ("model", "endpoint", "address", "country", "user_agent", "body")
            if data[name] not in ("", None)
        }

    def show(self, words: str, param: str | None) -> None:
        """Show what is wrong with the question. param: of the API."""
        field = (param or "").partition(".")[0]
        self.add_error(field if field in self.fields else None, words)

    def focus_first_error(self) -> None:
        name = next((name for name in self.fields if name in self.errors), None)
        if name is not None:
            self.fields[name].widget.attrs["autofocus"] = True

    def _offer(self, name: str, choices: Sequence[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(choices)


def _key_choices(keys: QuerySet[ApiKey], chosen: UUID | None) -> list[tuple[str, str]]:
    """Return the newest usable keys, and the chosen one in any case."""
    offered = list(keys.filter(revoked_at=None)[:OFFERED])
    if chosen is not None and chosen not in {key.pk for key in offered}:
        offered += keys.filter(pk=chosen)
    return [(str(key.pk), f"{key.label} ({key.shown_secret})") for key in offered]
