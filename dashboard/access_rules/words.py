"""Access rules in words: a line for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keys.models import AccessRules

_SHOWN = 5


def rule_lines(rules: AccessRules) -> list[str]:
    """Return nothing where nothing is refused."""
    return list(_lines(rules))


def _lines(rules: AccessRules) -> Iterator[str]:
    if rules.allowed_ips is not None:
        yield f"Allowed IPs: {_some(rules.allowed_ips)}"
    kinds = {
        "Denied IPs": rules.denied_ips,
        "Models": rules.allowed_models,
        "Denied models": rules.denied_models,
        "Blocked user agents": rules.denied_user_agents,
        "Allowed countries": rules.allowed_countries,
        "Denied countries": rules.denied_countries,
        "Hosts of fetched URLs": rules.allowed_hosts,
        "Denied hosts of fetched URLs": rules.denied_hosts,
    }
    for label, names in kinds.items():
        if names:
            yield f"{label}: {_some(names)}"
    if days := rules.max_key_days:
        yield f"Maximum key lifetime: {days:,} day{'' if days == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more or "none"
