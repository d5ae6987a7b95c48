"""What a service refused, shown beside the fields at fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


def show_more_errors(
    form: forms.Form, read: Callable[[], object], names: Mapping[str, str] | None = None
) -> None:
    """Show what a reader of the services finds wrong with fields that have no error yet.

    names: as of show_service_error.

    To be called in clean(): a service is asked to write only once all fields are well-formed, and
    people are told everything at once. Errors of other fields are left to the service.
    """
    try:
        read()
    except ValidationError as error:
        for name, errors in error.error_dict.items():
            field = (names or {}).get(name, name)
            if field in form.fields and field not in form.errors:
                form.add_error(field, errors)
