"""Limits on calls and spending as people write them, checked. Those of keys, members and workspaces
are the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from django.core.exceptions import ValidationError
from django.db.models import Q

from accounts.models import LimitedSpending
from gateway.core.money import MAX_NUSD

_EMPTY = "Enter an amount above 0 USD, or leave empty for no limit."
# What a limit may be, and what it counts.
RANGES = {
    "max_requests_per_minute": (1_000_000, "requests per minute"),
    "burst": (1_000_000, "burst requests"),
    "max_concurrent": (100_000, "concurrent requests"),
}


SPENDING = (
    "daily_limit_nusd",
    "weekly_limit_nusd",
    "monthly_limit_nusd",
    "total_limit_nusd",
)
# What has_budget asks, of rows.
HAS_BUDGET = reduce(or_, (Q(**{f"{name}__isnull": False}) for name in SPENDING))
# Of accounts.models.BudgetHolder.
BUDGET_FIELDS = (*SPENDING, "total_baseline_nusd", "budget_raises")


def read_spending_limits(wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the limits named in SPENDING, in nano-USD, as read_call_limits does."""
    limits = {name: wanted.get(name) for name in SPENDING}
    errors = {name: _EMPTY for name, value in limits.items() if not _is_amount(value)}
    if errors:
        raise ValidationError(errors)
    return limits


def has_budget(holder: LimitedSpending) -> bool:
    return any(getattr(holder, name) is not None for name in SPENDING)


def _is_amount(value: object) -> bool:
    return value is None or (type(value) is int and 0 < value <= MAX_NUSD)


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
