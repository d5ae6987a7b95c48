"""Says everything that is wrong at once: whoever fills in a form has to enter secrets again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError


class ErrorGatherer:
    """Called for each block, it keeps the ValidationError of the block. errors: by field."""

    def __init__(self) -> None:
        self.errors: dict[str, list[ValidationError]] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            error.update_error_dict(self.errors)


@contextmanager
def raising_all() -> Iterator[ErrorGatherer]:
    """Give what gathers the ValidationError of a block. Raises one of all of them at the end."""
    gather = ErrorGatherer()
    yield gather
    if gather.errors:
        raise ValidationError(gather.errors)
