"""The maximum for developers' keys in words, a line for each thing that is limited."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.templatetags.money import usd
from keys.models import DeveloperKeyPolicy

_SHOWN = 5


def policy_lines(policy: DeveloperKeyPolicy) -> list[str]:
    """Return nothing where nothing is limited."""
    return list(_lines(policy))


def _lines(policy: DeveloperKeyPolicy) -> Iterator[str]:
    if policy.max_keys is not None:
        yield f"{policy.max_keys:,} {'key' if policy.max_keys == 1 else 'keys'} per developer"
    for nusd, period in (
        (policy.daily_limit_nusd, "a day"),
        (policy.monthly_limit_nusd, "a month"),
        (policy.total_limit_nusd, "in total"),
    ):
        if nusd is not None:
            yield f"{usd(nusd)} {period}"
    if policy.max_requests_per_minute is not None:
        at_once = f", {policy.burst:,} at once" if policy.burst else ""
        yield f"{policy.max_requests_per_minute:,} calls a minute{at_once}"
    if policy.max_concurrent is not None:
        yield f"{policy.max_concurrent:,} running at a time"
    if policy.allowed_models:
        yield f"Models: {_some(policy.allowed_models)}"
    if policy.allowed_ips is not None:
        yield f"From: {_some(policy.allowed_ips)}"
    if policy.scopes is not None:
        yield f"Scopes: {_some(policy.scopes)}"
    if not policy.allows_chat_template:
        yield "No chat templates"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
