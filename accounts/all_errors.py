"""Says everything that is wrong at once: whoever fills in a form has to enter secrets again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.core.exceptions import ValidationError

Gather = Callable[[], AbstractContextManager[None]]


@contextmanager
def raising_all() -> Iterator[Gather]:
    """Give what gathers the ValidationError of a block. Raises one of all of them at the end."""
    found: dict[str, list[ValidationError]] = {}

    @contextmanager
    def gather() -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            error.update_error_dict(found)

    yield gather
    if found:
        raise ValidationError(found)
