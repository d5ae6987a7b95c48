"""What a model sends upstream where the caller does not say, checked."""

from __future__ import annotations

import json

import msgspec
from django.core.exceptions import ValidationError

from gateway.core.parameters import OF_EACH_CALL, steers

FIELD = "default_params"
MAX_BYTES = 4_096


def check_default_params(defaults: object) -> None:
    """Raise ValidationError for `default_params` unless these can go upstream with every call."""
    if not isinstance(defaults, dict) or not all(isinstance(name, str) for name in defaults):
        raise _refusal('Enter one JSON object such as {"temperature": 0.2}.')
    for name, value in defaults.items():
        if name in OF_EACH_CALL or steers(name):
            raise _refusal(f"{name} cannot have a default.")
        if value is None:
            raise _refusal(f"{name} is null. Leave it out.")
    try:
        written = json.dumps(defaults, allow_nan=False)
        msgspec.json.encode(defaults)  # as the compiled catalogue does
    except (TypeError, ValueError, RecursionError):
        raise _refusal("This cannot be sent as JSON.") from None
    if len(written) > MAX_BYTES or "\\u0000" in written:
        raise _refusal(f"At most {MAX_BYTES} bytes as JSON, without NUL.")


def _refusal(sentence: str) -> ValidationError:
    return ValidationError({FIELD: sentence})
