"""The forms of a limit. What is written is checked by keys.limit_rules, not here.

Fields are named as there, so that errors fall into place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.forms.service_errors import show_more_errors, show_service_error
from dashboard.forms.usd_field import read_typed_usd
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.rules_form import lines_field, written_lines
from dashboard.limits.places import Choice
from gateway.core.money import format_usd
from keys.limit_rules import values_of
from keys.limit_values import LABEL_CHARS, read_amount, read_label
from keys.limit_words import ALGORITHMS, METRICS
from keys.models import LimitRule
from keys.rules import read_model_names

COST = LimitRule.Metric.COST.value
# What stands in the menu of periods for a maximum of each request.
REQUEST = "request"
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")


def _amount(label: str, help_text: str, empty: str) -> forms.CharField:
    attrs = {"inputmode": "decimal", "autocomplete": "off", "placeholder": empty}
    return forms.CharField(
        required=False,
        max_length=40,
        label=label,
        help_text=help_text,
        widget=forms.TextInput(attrs=attrs),
    )


class LimitForm(forms.Form):
    """What can be changed of a limit."""

    maximum = _amount("Maximum", "A whole number. For cost: USD, such as 5.00.", "")
    burst = _amount("Burst", "Size of the bucket. Default: the maximum.", "Same as maximum")
    only_models = lines_field(
        "Only these models",
        "One name or pattern per line, * for any characters. Default: calls to all models count.",
        "openai/*\ngpt-4*",
    )
    label = forms.CharField(
        required=False,
        max_length=LABEL_CHARS,
        label="Note",
        help_text="What the limit is for.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    is_enabled = forms.BooleanField(required=False, initial=True, label="Enabled")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    # What the amounts are of: None while it is not known.
    metric_now: str | None = None

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        for name in ("maximum", "burst"):
            if name in cleaned:
                self._read(cleaned, name)
        if self.errors:
            self._show_more(cleaned)
        return cleaned

    def _show_more(self, cleaned: FormValues) -> None:
        """Show what the service would say of the fields that are well-formed."""
        models = written_lines(cleaned.get("only_models", ""))
        label, metric = cleaned.get("label", ""), self.metric_now or ""
        show_more_errors(self, lambda: read_model_names(models, "only_models"))
        show_more_errors(self, lambda: read_label(label))
        for name in ("maximum", "burst"):
            amount = cleaned.get(name)
            if name == "maximum" or amount is not None:
                show_more_errors(self, partial(read_amount, metric, amount, name))

    def changes(self) -> FormValues:
        """Return what the service takes of a change, from a valid form."""
        data = self.cleaned_data
        return {
            "maximum": data["maximum"],
            "burst": data.get("burst"),
            "only_models": written_lines(data.get("only_models", "")),
            "label": data["label"],
            "is_enabled": data["is_enabled"],
        }

    def take(self, error: ValidationError) -> None:
        """Show what the service found."""
        show_service_error(self, error, {"per_request": "period"})

    def _read(self, cleaned: FormValues, name: str) -> None:
        text = cleaned[name]
        cleaned[name] = None
        if text and self.metric_now is not None:
            try:
                cleaned[name] = _read_amount(self.metric_now, text)
            except ValueError as error:
                self.add_error(name, str(error))


class EditLimitForm(LimitForm):
    """The form of a limit that there is."""

    def __init__(self, data: QueryDict | None, rule: LimitRule) -> None:
        super().__init__(data, initial=initial_of(rule))
        self.metric_now = rule.metric
        if rule.algorithm != LimitRule.Algorithm.TOKEN_BUCKET:
            del self.fields["burst"]
        if rule.level == LimitRule.Level.MODEL:
            del self.fields["only_models"]


class NewLimitForm(LimitForm):
    """The same, what the limit is for, and what it counts."""

    holder = forms.ChoiceField(label="For", error_messages={"required": "Choose what it is for."})
    metric = forms.ChoiceField(choices=list(METRICS.items()), label="Metric")
    period = forms.ChoiceField(
        required=False,
        choices=[*LimitRule.Period.choices, (REQUEST, "Each request")],
        initial=LimitRule.Period.MINUTE,
        label="Per",
        help_text="Each request: the maximum applies to each single request.",
    )
    algorithm = forms.ChoiceField(
        required=False,
        choices=list(ALGORITHMS.items()),
        label="Algorithm",
        help_text="Rolling: any period of this length. Fixed: by the clock and calendar (UTC)."
        " Sliding: estimated from two fixed windows. Bucket: refills evenly.",
    )
    field_order = ("holder", "metric", "maximum", "period", "algorithm", "burst")

    def __init__(
        self,
        data: QueryDict | None,
        *,
        initial: FormValues,
        holders: list[tuple[str, list[Choice]]],
    ) -> None:
        """holders: what a limit can be for, in groups."""
        super().__init__(data, initial=initial)
        field = self.fields["holder"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = holders

    def clean(self) -> FormValues:
        self.metric_now = self.cleaned_data.get("metric")
        return super().clean()

    def values(self) -> FormValues:
        """Return what the service takes of a new limit, from a valid form.

        Where nothing is counted over time, what the menus of it show says nothing.
        """
        data = self.cleaned_data
        is_at_once = data["metric"] == LimitRule.Metric.CONCURRENT_REQUESTS
        per_request = not is_at_once and data["period"] == REQUEST
        is_counted = not is_at_once and not per_request
        return {
            **self.changes(),
            "metric": data["metric"],
            "per_request": per_request,
            "period": data["period"] if is_counted else "",
            "algorithm": data["algorithm"] if is_counted else "",
        }


def initial_of(rule: LimitRule) -> FormValues:
    """Return what the form shows for a limit as it is."""
    return {
        "maximum": _written(rule.metric, rule.maximum),
        "burst": "" if rule.burst is None else _written(rule.metric, rule.burst),
        "only_models": "\n".join(rule.only_models),
        "label": rule.label,
        "is_enabled": rule.is_enabled,
        "seen": limit_version(rule),
    }


def initial_of_new(query: Mapping[str, str]) -> FormValues:
    """Return what the form of a new limit shows. query: of the address that led to it."""
    return {"holder": query.get("for", "")[:300], "is_enabled": True}


def limit_version(rule: LimitRule) -> str:
    """Return a token that differs when anything that the form shows differs."""
    return version_token(values_of(rule))


def _written(metric: str, amount: int) -> str:
    return format_usd(amount) if metric == COST else str(amount)


def _read_amount(metric: str, text: str) -> int:
    """Raises ValueError with a sentence for people."""
    if metric == COST:
        return read_typed_usd(text)
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    if not (plain.isascii() and plain.isdigit()):
        raise ValueError("Enter a whole number, such as 1000.")
    return int(plain)
