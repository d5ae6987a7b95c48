"""JSON as people type or paste it."""

from __future__ import annotations

import json

from django.core.exceptions import ValidationError


def read_json(text: str, *, example: str) -> object:
    """Return the value. Raises ValidationError with the place of the error, which pasted text makes
    hard to find.

    example: a value that would do.
    """
    words = f"Enter valid JSON, such as {example}."
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"Line {error.lineno}, column {error.colno}: {error.msg.lower()}."
        raise ValidationError(f"{words} {place}") from None
    except (ValueError, RecursionError):
        raise ValidationError(words) from None
