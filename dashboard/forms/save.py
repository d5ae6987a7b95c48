"""What every form that edits something does with its service's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError

from dashboard.forms.service_errors import show_service_error
from dashboard.http.htmx import PageRequest

SAVED = "Saved. Changes apply within a second."


def is_written(form: forms.Form, write: Callable[[], None]) -> bool:
    """True when the form was well filled in and its change is made; else the form says why not."""
    if not form.is_valid():
        return False
    try:
        write()
    except ValidationError as error:
        show_service_error(form, error)
        return False
    return True


class ShowsServiceError(Protocol):
    """A form that shows what a service found."""

    def take(self, error: ValidationError) -> None: ...


def save(
    request: PageRequest, form: ShowsServiceError, write: Callable[[], bool], *, words: str = SAVED
) -> bool:
    """Save a valid form and say so. False: the service refused, and the form says why.

    write: returns False when nothing is different.
    """
    try:
        changed = write()
    except ValidationError as error:
        form.take(error)
        return False
    messages.success(request, words if changed else "Nothing changed.")
    return True
