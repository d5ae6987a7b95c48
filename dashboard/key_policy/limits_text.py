"""What keys are limited to, in words: a line for each thing that is limited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from accounts.limits import SPENDING
from accounts.models import LimitedSpending
from dashboard.templatetags.money import usd
from keys.limits import limits_of
from keys.models import DeveloperKeyPolicy

_SHOWN = 5
_PERIODS = dict(zip(SPENDING, ("per day", "per week", "per month", "in total"), strict=True))


def policy_lines(policy: DeveloperKeyPolicy) -> list[str]:
    """Return nothing where nothing is limited."""
    return list(_lines(policy))


def limit_words(limits: Mapping[str, int | None]) -> list[str]:
    """Return what limits, by their names in keys.limits, allow."""
    return list(_limits(limits))


def budget_words(holder: LimitedSpending) -> list[str]:
    """Return the budgets of a holder: `$5 per day`."""
    return list(_budgets({name: getattr(holder, name) for name in SPENDING}))


def _lines(policy: DeveloperKeyPolicy) -> Iterator[str]:
    if policy.max_keys is not None:
        yield f"{policy.max_keys:,} {'key' if policy.max_keys == 1 else 'keys'} per developer"
    yield from _limits(limits_of(policy))
    if policy.allowed_models:
        yield f"Models: {_some(policy.allowed_models)}"
    if policy.allowed_ips is not None:
        yield f"Allowed IPs: {_some(policy.allowed_ips)}"
    if policy.scopes is not None:
        yield f"Scopes: {_some(policy.scopes)}"
    if not policy.allows_chat_template:
        yield "No chat templates"


def _limits(limits: Mapping[str, int | None]) -> Iterator[str]:
    yield from _budgets(limits)
    if (calls := limits["max_requests_per_minute"]) is not None:
        at_once = f", burst {burst:,}" if (burst := limits["burst"]) else ""
        yield f"{calls:,} requests per minute{at_once}"
    if (running := limits["max_concurrent"]) is not None:
        yield f"{running:,} concurrent requests"


def _budgets(limits: Mapping[str, int | None]) -> Iterator[str]:
    for name, period in _PERIODS.items():
        if (nusd := limits[name]) is not None:
            yield f"{usd(nusd)} {period}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
