"""The limits on a key: how much it may call, and how much it may spend."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError

from accounts.limits import RANGES, SPENDING, read_call_limits, read_spending_limits
from keys.models import ApiKey, DeveloperKeyPolicy

ALL = (*RANGES, *SPENDING)


def limits_of(holder: ApiKey | DeveloperKeyPolicy) -> dict[str, int | None]:
    """Return every limit as it is, by its name in keys.models; None is no limit."""
    return {name: getattr(holder, name) for name in ALL}


def read_limits(wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return every limit as it is stored; None, or not given, is no limit. Money in nano-USD.

    Raises ValidationError with an entry for each that cannot be taken.
    """
    if unknown := sorted(set(wanted) - set(ALL)):
        raise ValidationError(f"The limit {unknown[0][:40]!r} does not exist.")
    limits: dict[str, int | None] = {}
    errors: dict[str, list[str]] = {}
    for read in (read_call_limits, read_spending_limits):
        try:
            limits |= read(wanted)
        except ValidationError as error:
            errors |= error.message_dict
    if errors:
        raise ValidationError(errors)
    return limits
