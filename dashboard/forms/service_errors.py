"""What a service refused, shown beside the fields at fault."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html


def show_service_error(
    form: forms.Form, error: ValidationError, names: Mapping[str, str] | None = None
) -> None:
    """Add the errors to the form.

    names: the form's field for each field of the service that is called otherwise here. What has
    no field is said of the form as a whole.
    """
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, errors in error.error_dict.items():
        field = (names or {}).get(name, name)
        form.add_error(field if field in form.fields else None, errors)


def show_conflict(form: forms.Form, thing: str) -> None:
    """Say that somebody else changed the thing, with a way to see it: a reload would send again."""
    words = (
        "Someone else changed this {} in the meantime. Copy your changes, then"
        ' <a href="">reload the page</a>.'
    )
    form.add_error(None, format_html(words, thing))
