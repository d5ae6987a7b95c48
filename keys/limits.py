"""The limits on a key: how much it may call, and how much it may spend."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError

from accounts.limits import RANGES, read_call_limits
from gateway.core.money import MAX_NUSD
from keys.models import ApiKey, DeveloperKeyPolicy

SPENDING = ("daily_limit_nusd", "monthly_limit_nusd", "total_limit_nusd")
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
    errors = {name: _complaint(wanted.get(name)) for name in SPENDING}
    errors = {name: words for name, words in errors.items() if words}
    calls: dict[str, int | None] = {}
    try:
        calls = read_call_limits(wanted)
    except ValidationError as error:
        raise ValidationError({**error.message_dict, **errors}) from None
    if errors:
        raise ValidationError(errors)
    return calls | {name: wanted.get(name) for name in SPENDING}


def _complaint(value: object) -> str:
    if value is None or (type(value) is int and 0 < value <= MAX_NUSD):
        return ""
    return "Enter an amount above 0 USD, or leave empty for no limit."
