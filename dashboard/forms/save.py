"""What every form that edits something does with its service's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django.contrib import messages
from django.core.exceptions import ValidationError

from dashboard.http.htmx import PageRequest

SAVED = "Saved. Changes apply within a second."


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
