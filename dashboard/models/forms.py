"""The form of a model: details, prices, limits, capabilities.

gateway.services checks what is written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.json_text import read_json
from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from gateway.core.money import format_price, format_usd_per_mtok, read_price
from gateway.core.operations import OPERATIONS
from gateway.core.units import UNITS, Unit, other_units
from gateway.models import LanguageModel
from gateway.services.models import (
    DESCRIPTION_CHARS,
    MAX_TOKENS,
    NATIVE_CHARS,
    check_model,
    check_new_model,
    read_native_model,
    read_prices,
)
from gateway.services.unusual_prices import UnusualPrice

ABILITIES = {"vision": "Images", "pdf": "PDF files", "audio": "Audio", "tools": "Tools"}
_ANSWERS = {"yes": True, "no": False, "": None}
_WORDS = {answer: word for word, answer in _ANSWERS.items()}
# The services' fields that are called otherwise here.
_PRICES = {
    "input_pusd_per_token": "input_usd",
    "cached_input_pusd_per_token": "cached_usd",
    "output_pusd_per_token": "output_usd",
}
# Not as the form shows them: lists and objects are text there.
_OTHERS = ("aliases", "fallbacks", "unknown_fields", "default_params", "template_render_mode")
_PROMPT = ("template_render_mode", "default_system_prompt")
_SAME = (
    *("display_name", "owned_by", "description", "context_tokens", "max_output_tokens"),
    *("default_system_prompt", "operation"),
)


class PriceField(forms.CharField):
    """A unit's price in USD as people type it; pico-USD when clean, None when empty."""

    def __init__(
        self, unit: Unit, *, label: str, required: bool = True, help_text: str = ""
    ) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off"}
        super().__init__(
            max_length=40,
            widget=forms.TextInput(attrs=attrs),
            label=label,
            required=required,
            help_text=help_text,
        )
        self._unit = unit

    def clean(self, value: object) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return read_price(text.removeprefix("$"), self._unit)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class ParametersField(forms.CharField):
    """A JSON object; an empty field is an empty one."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})

    def clean(self, value: object) -> object:
        text = super().clean(value)
        return read_json(text, example='{"seed": 7}') if text else {}


class NamesField(forms.CharField):
    """Names separated by commas; a list when clean."""

    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})

    def clean(self, value: object) -> list[str]:
        return [part.strip() for part in super().clean(value).split(",") if part.strip()]


class PromptField(forms.CharField):
    """A text kept as it is typed, its spaces included; browsers send lines that end in CRLF."""

    widget = forms.Textarea(attrs={"rows": 6, "spellcheck": "false"})

    def clean(self, value: object) -> str:
        return str(super().clean(value)).replace("\r\n", "\n")


def _ability(label: str) -> forms.ChoiceField:
    choices = [("", "Unknown"), ("yes", "Yes"), ("no", "No")]
    return forms.ChoiceField(
        required=False, choices=choices, initial="", label=label, widget=forms.RadioSelect
    )


class ModelForm(forms.Form):
    """Everything about a model but its name and targets."""

    display_name = forms.CharField(
        max_length=200, required=False, help_text="Shown to people. Default: the model name."
    )
    owned_by = forms.CharField(
        max_length=80, required=False, label="Publisher", help_text="Default: the provider."
    )
    aliases = NamesField(
        required=False,
        label="Aliases",
        help_text="Further names that callers can use, separated by commas.",
    )
    fallbacks = NamesField(
        required=False,
        label="Fallback models",
        help_text="Model names in order, separated by commas. They serve calls, at their own "
        "prices, when all providers of this model fail.",
    )
    description = forms.CharField(
        max_length=DESCRIPTION_CHARS, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    input_usd = PriceField(UNITS["prompt"], label="Input")
    cached_usd = PriceField(
        UNITS["cached"], label="Cached input", required=False, help_text="Default: same as input."
    )
    output_usd = PriceField(UNITS["completion"], label="Output")
    context_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_TOKENS,
        label="Context window",
        help_text="In tokens. Empty: unknown.",
    )
    max_output_tokens = forms.IntegerField(
        min_value=1,
        max_value=MAX_TOKENS,
        label="Max output tokens",
        help_text="Higher values in a call are lowered to this.",
    )
    operation = forms.ChoiceField(
        required=False,
        choices=[("", "Any"), *OPERATIONS.items()],
        initial="",
        label="Used for",
        help_text="Other calls get 400. Any: the provider decides.",
    )
    supports_vision = _ability(ABILITIES["vision"])
    supports_pdf = _ability(ABILITIES["pdf"])
    supports_audio = _ability(ABILITIES["audio"])
    supports_tools = _ability(ABILITIES["tools"])
    unknown_fields = forms.ChoiceField(
        choices=[("forward", "Forward"), ("drop", "Drop"), ("reject", "Reject")],
        initial="forward",
        label="Unknown parameters",
        widget=forms.RadioSelect,
    )
    default_params = ParametersField(
        required=False,
        label="Default parameters",
        help_text="A JSON object. Sent to the provider unless the caller sets the parameter.",
    )
    template_render_mode = forms.ChoiceField(
        choices=[("off", "Off"), ("vars", "Variables"), ("logic", "Logic")],
        initial="off",
        label="Template variables",
        widget=forms.RadioSelect,
    )
    default_system_prompt = PromptField(
        required=False,
        strip=False,
        label="Default system prompt",
        help_text="Added before the system messages of every call, separated by ---.",
    )
    confirm_price = forms.BooleanField(
        required=False, label="Confirm these prices", help_text="They apply to new calls."
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    wants_confirmation = False

    def __init__(self, data: QueryDict | None, *, initial: FormValues) -> None:
        super().__init__(data, initial=initial)
        self._units = _priced_units()
        for unit in self._units:
            self.fields[_field_of(unit)] = PriceField(
                unit, label=unit.label, required=False, help_text=_help_on(unit)
            )

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        if self.errors:
            self._show_more(cleaned)
        return cleaned

    def _show_more(self, cleaned: FormValues) -> None:
        """Show what the services would say of the fields that are well-formed."""
        written = {name: cleaned[name] for name in (*_SAME, *_OTHERS) if name in cleaned}
        show_more_errors(self, lambda: self._check(written))
        prices = {unit.name: cleaned.get(_field_of(unit)) for unit in self._units}
        show_more_errors(
            self,
            lambda: read_prices(
                input_pusd=cleaned.get("input_usd") or 0,
                output_pusd=cleaned.get("output_usd") or 0,
                cached_input_pusd=cleaned.get("cached_usd"),
                unit_prices=prices,
            ),
            self._price_names(),
        )

    def _check(self, written: FormValues) -> None:
        """Raise ValidationError for what is written of the model and cannot be taken."""
        about = {name: self.initial[name] for name in ("pk", "name") if name in self.initial}
        check_model(LanguageModel(**about, **written))

    def _price_names(self) -> dict[str, str]:
        return _PRICES | {one.price_column: _field_of(one) for one in self._units}

    @property
    def unit_prices(self) -> list[forms.BoundField]:
        """The fields of prices of other units."""
        return [self[_field_of(unit)] for unit in self._units]

    def prices(self) -> FormValues:
        """Return what set_prices and add_model take, pico-USD."""
        data = self.cleaned_data
        return {
            "input_pusd": data["input_usd"],
            "cached_input_pusd": data["cached_usd"],
            "output_pusd": data["output_usd"],
            "unit_prices": {unit.name: data[_field_of(unit)] for unit in self._units},
        }

    def described(self) -> FormValues:
        """Return the fields of update_model and add_model."""
        data = self.cleaned_data
        fields = {name: data[name] for name in (*_SAME, *_OTHERS)}
        return fields | {
            f"supports_{ability}": _ANSWERS[data[f"supports_{ability}"]] for ability in ABILITIES
        }

    @property
    def abilities(self) -> list[forms.BoundField]:
        return [self[f"supports_{ability}"] for ability in ABILITIES]

    def take(self, error: ValidationError) -> None:
        """Show what the service found, and offer to confirm where that is the remedy."""
        show_service_error(self, error, self._price_names())
        self.wants_confirmation = isinstance(error, UnusualPrice)


class NewModelForm(ModelForm):
    """A model, and where its first target is."""

    name = forms.CharField(
        max_length=200,
        help_text="The name that callers send as model.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    provider = forms.ChoiceField()
    native_model = forms.CharField(
        max_length=NATIVE_CHARS,
        required=False,
        label="Provider model ID",
        help_text="Default: the name above.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self, data: QueryDict | None, *, initial: FormValues, providers: Sequence[str]
    ) -> None:
        super().__init__(data, initial=initial)
        field = self.fields["provider"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in providers]

    def _show_more(self, cleaned: FormValues) -> None:
        super()._show_more(cleaned)
        if native_model := cleaned.get("native_model"):
            show_more_errors(self, lambda: read_native_model(native_model))

    def _check(self, written: FormValues) -> None:
        publisher = written.get("owned_by") or self.cleaned_data.get("provider", "")
        name = self.cleaned_data.get("name", "")
        check_new_model(LanguageModel(**{**written, "name": name, "owned_by": publisher}))


def initial_of_model(model: LanguageModel) -> FormValues:
    """Return what the form shows for a model as it is."""
    same_price = model.cached_input_pusd_per_token == model.input_pusd_per_token
    cached = "" if same_price else format_usd_per_mtok(model.cached_input_pusd_per_token)
    defaults = model.default_params
    return {
        "pk": model.pk,
        "name": model.name,
        **{name: getattr(model, name) for name in _SAME},
        "input_usd": format_usd_per_mtok(model.input_pusd_per_token),
        "cached_usd": cached,
        "output_usd": format_usd_per_mtok(model.output_pusd_per_token),
        "aliases": ", ".join(model.aliases),
        "fallbacks": ", ".join(model.fallbacks),
        "unknown_fields": model.unknown_fields,
        "template_render_mode": model.template_render_mode,
        "default_params": json.dumps(defaults, indent=2, ensure_ascii=False) if defaults else "",
        **{name: _WORDS[getattr(model, name)] for name in _ability_fields()},
        **{
            _field_of(unit): format_price(getattr(model, unit.price_column), unit)
            for unit in _priced_units()
            if getattr(model, unit.price_column) is not None
        },
        "seen": model_version(model),
    }


def model_version(model: LanguageModel) -> str:
    """Return a token that differs when anything that the form edits differs."""
    prices = [unit.price_column for unit in _priced_units()]
    names = (*_PRICES, *prices, *_SAME, *_OTHERS, *_ability_fields())
    return version_token([getattr(model, name) for name in names])


def _priced_units() -> list[Unit]:
    """Return the units that have prices beside input, cached input and output."""
    return [unit for unit in other_units() if unit.price_column]


def _field_of(unit: Unit) -> str:
    return f"{unit.name}_usd"


def _help_on(unit: Unit) -> str:
    if unit.priced_as:
        return f"Default: same as {UNITS[unit.priced_as].label.lower()}."
    if unit.part_of:
        return f"Default: same as {'input' if unit.part_of == 'prompt' else 'output'}."
    return f"USD per {unit.price_noun}. Default: free."


def _ability_fields() -> list[str]:
    return [f"supports_{ability}" for ability in ABILITIES]
