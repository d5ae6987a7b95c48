"""The options of processors as fields of forms: of those that are mandatory, and of a trial.

Fields are named as the members of `inferada.<processor>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django import forms

from dashboard.forms.values import FormValues
from gateway.core.processor_rules import ServiceKind
from gateway.models import ProcessorService
from gateway.processors.pii_models import ner_languages
from gateway.processors.pii_types import ENTITY_TYPES, NER, NER_TYPES
from gateway.processors.spelling_levels import DEFAULT

TRIAL = "trial"
# By processor, which fields it has; one that is not here has none. Of a trial: those of anonymise,
# of prompt_shield and of spellcheck.
FIELDS: Mapping[str, Sequence[str]] = {
    "anonymise": ("entities", "score_threshold", "service_id", "allow_unscannable"),
    "pii_guard": ("entities", "score_threshold", "service_id", "allow_unscannable"),
    "prompt_shield": ("threshold",),
    "spellcheck": ("level", "service_id"),
    TRIAL: (
        *("entities", "score_threshold", "service_id"),
        *("threshold", "level", "spelling_service_id"),
    ),
}
NER_LABEL = "ner: named-entity model on this server"


def share_field(label: str, help_text: str) -> forms.FloatField:
    attrs = {"min": "0", "max": "1", "step": "0.05", "placeholder": "0.7"}
    return forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        label=label,
        help_text=help_text,
        widget=forms.NumberInput(attrs=attrs),
    )


class OptionsForm(forms.Form):
    """processor: whose options. services: of the workspace. given: the options as they are."""

    entities = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Types",
        help_text="Default: all types.",
    )
    score_threshold = share_field(
        "Score threshold", "From 0 to 1. Findings with a lower score are ignored. Default: 0.7."
    )
    threshold = share_field(
        "Threshold", "From 0 to 1. Calls with this score or more are refused. Default: 0.7."
    )
    level = forms.ChoiceField(
        required=False,
        label="Level",
        choices=[
            ("", "Default: correct only clear cases"),
            ("picky", "Picky: also correct unclear cases and shorter words"),
        ],
    )
    service_id = forms.ChoiceField(required=False, label="Service")
    # In a trial, where the other is that of anonymise.
    spelling_service_id = forms.ChoiceField(required=False, label="spellcheck service")
    allow_unscannable = forms.BooleanField(
        required=False,
        label="Allow images and audio",
        help_text="They are sent to the model unscanned. If off, calls with them are refused.",
    )

    def __init__(
        self,
        data: FormValues | None,
        *,
        processor: str,
        services: Sequence[ProcessorService],
        given: FormValues,
    ) -> None:
        super().__init__(data, initial=dict(given))
        self.processor = processor
        for name in OptionsForm.base_fields:
            if name not in FIELDS.get(processor, ()):
                del self.fields[name]
        if "entities" in self.fields:
            self._offer("entities", _types(given.get("entities") or ()))
        if "service_id" in self.fields:
            kind: ServiceKind = "languagetool" if processor == "spellcheck" else "presidio"
            self._offer_services("service_id", kind, services)
        if "spelling_service_id" in self.fields:
            self._offer_services("spelling_service_id", "languagetool", services)

    def options(self) -> FormValues:
        """Return the options of a valid form, without those that are left at their default."""
        named = {name: self.cleaned_data.get(name) for name in FIELDS.get(self.processor, ())}
        return {name: value for name, value in named.items() if value not in (None, "", [], False)}

    def _offer_services(
        self, field: str, kind: ServiceKind, services: Sequence[ProcessorService]
    ) -> None:
        choices = [("", "None: only this server")]
        kept = self.initial.get(field)
        if kind == "presidio" and (ner_languages() or kept == NER):
            choices.append((NER, NER_LABEL))
        names = [one.name for one in services if one.kind == kind]
        if kept and kept not in (*names, NER):
            names.append(kept)
        self._offer(field, [*choices, *((name, name) for name in names)])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


def _types(kept: Iterable[str]) -> list[tuple[str, str]]:
    """Return the types to choose from. A service may have types of its own, set by command."""
    known = [one for one in ENTITY_TYPES if ner_languages() or one not in NER_TYPES]
    return [(one, one) for one in (*known, *(one for one in kept if one not in known))]


def describe_options(options: Mapping[str, object]) -> list[str]:
    """Return options in words, one each."""
    words = {
        "score_threshold": "minimum score {}",
        "threshold": "threshold {}",
        "level": "level {}",
        "service_id": "service {}",
    }
    said = []
    for name, value in options.items():
        if name == "entities" and isinstance(value, list):
            said.append(", ".join(map(str, value)))
        elif name == "allow_unscannable" and value:
            said.append("images and audio allowed")
        elif name in words and not (name == "level" and value == DEFAULT):
            said.append(words[name].format(value))
    return said
