"""Form controls with the classes of our style sheets.

Django adds the ids of help and errors by itself.
"""

from __future__ import annotations

from django import forms, template
from django.forms import BoundField
from django.utils.safestring import SafeString

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
def is_checkbox(field: BoundField) -> bool:
    return isinstance(field.field.widget, forms.CheckboxInput)


@register.filter
def is_check_list(field: BoundField) -> bool:
    return isinstance(field.field.widget, forms.CheckboxSelectMultiple)
