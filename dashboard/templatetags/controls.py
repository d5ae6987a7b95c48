"""Form controls with the classes of our style sheets.

Django adds the ids of help and errors by itself.
"""

from __future__ import annotations

from django import forms, template
from django.forms import BoundField
from django.utils.safestring import SafeString

from dashboard.forms.unrepeated import SECRET_INPUTS

register = template.Library()

_CLASSES: tuple[tuple[type[forms.Widget], str], ...] = (
    (forms.CheckboxInput, ""),
    (forms.CheckboxSelectMultiple, ""),
    (forms.RadioSelect, ""),
    (forms.Select, "select"),
    (forms.Widget, "input"),
)

_SELF_EVIDENT = (forms.EmailInput, forms.PasswordInput)


@register.filter
def control(field: BoundField) -> SafeString:
    """Return the field's widget with the class of its kind."""
    kind = next(name for widget, name in _CLASSES if isinstance(field.field.widget, widget))
    attrs: dict[str, str | bool] = {"class": kind} if kind else {}
    if isinstance(field.field.widget, _SELF_EVIDENT):
        # django-allauth repeats the label as a placeholder.
        attrs["placeholder"] = ""
    return field.as_widget(attrs=attrs)


@register.filter
def not_repeated(field: BoundField) -> str:
    """Return what a person has to be told of a field that lost what was sent: a secret, a file."""
    widget = field.field.widget
    if not (field.form.is_bound and field.data):
        return ""
    if isinstance(widget, forms.FileInput):
        return "Choose the file again."
    is_secret = isinstance(widget, SECRET_INPUTS)
    if not is_secret or widget.attrs.get("autocomplete") == "current-password":
        return ""  # who signs in knows
    return "Enter this again. It is secret, so the page does not show it."


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return isinstance(field.field.widget, forms.CheckboxInput)


@register.filter
def is_check_list(field: BoundField) -> bool:
    return isinstance(field.field.widget, forms.CheckboxSelectMultiple)
