"""Limits on calls as people write them, checked. A key's and a workspace's are the same."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError

# What a limit may be, and what it counts.
RANGES = {
    "max_requests_per_minute": (1_000_000, "requests per minute"),
    "burst": (1_000_000, "burst requests"),
    "max_concurrent": (100_000, "concurrent requests"),
}


def read_call_limits(wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the limits named in RANGES; None is no limit, and so is one that is not given.

    Raises ValidationError with an entry for each that cannot be taken.
    """
    limits = {name: wanted.get(name) for name in RANGES}
    errors = {name: _complaint(name, value) for name, value in limits.items()}
    if limits["burst"] is not None and limits["max_requests_per_minute"] is None:
        errors["burst"] = "Burst requires a limit for requests per minute."
    if errors := {name: words for name, words in errors.items() if words}:
        raise ValidationError(errors)
    return limits


def _complaint(name: str, value: int | None) -> str:
    most, what = RANGES[name]
    if value is None or (type(value) is int and 1 <= value <= most):
        return ""
    return f"Enter a whole number of {what} from 1 to {most:,}, or leave empty for no limit."
