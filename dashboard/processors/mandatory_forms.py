"""The form of a mandatory processor. gateway.services.mandatory_processors checks what it says."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.core.exceptions import ValidationError

from dashboard.forms.service_errors import show_service_error
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.processors.option_fields import OptionsForm
from gateway.models import MandatoryProcessor, ProcessorService
from gateway.services.mandatory_processors import RequirableProcessor


class MandatoryForm(OptionsForm):
    """row: None for one that is new."""

    language = forms.ChoiceField(
        required=False,
        label="Language",
        help_text="The language of the texts. If a request names another, both are used.",
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("language",)

    def __init__(
        self,
        data: FormValues | None,
        processor: RequirableProcessor,
        *,
        services: Sequence[ProcessorService],
        row: MandatoryProcessor | None,
    ) -> None:
        given: FormValues = {}
        if row is not None:
            given = {**row.options, "language": row.language, "seen": mandatory_version(row)}
        super().__init__(data, processor=processor.name, services=services, given=given)
        if not processor.languages:
            del self.fields["language"]
            return
        none = "Choose" if processor.needs_language else "All languages"
        kept = [given["language"]] if given.get("language") else []
        names = dict.fromkeys((*processor.languages, *kept))
        self._offer("language", [("", none), *((one, one) for one in names)])

    def take(self, error: ValidationError) -> None:
        show_service_error(self, error)

    def chosen_language(self) -> str:
        return str(self.cleaned_data.get("language") or "")


def mandatory_version(row: MandatoryProcessor) -> str:
    """Return a token that differs when anything that the form shows differs."""
    return version_token([sorted(row.options.items()), row.language])
