"""What a service refused, shown beside the fields at fault."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError


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
