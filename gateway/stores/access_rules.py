"""Access rules of keys and their workspaces, compiled for admission.

A list that many keys are under is compiled once, and shared.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from gateway.core.egress import HostRules
from gateway.core.name_patterns import NamePatterns, compile_names
from gateway.snapshot.types import AddressRules, CallerRules, CountryRules, ModelRules
from keys.models import AccessRules, LimitedAccess

log = logging.getLogger(__name__)

Network = IPv4Network | IPv6Network
Networks = tuple[Network, ...]
EVERYWHERE: Networks = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))


def compile_models(*holders: LimitedAccess | None) -> ModelRules | None:
    """Return what a model has to pass. holders: the key and, where it has rules, the workspace."""
    levels = [holder for holder in holders if holder is not None]
    allowed = tuple(_names(one.allowed_models) for one in levels if one.allowed_models)
    denied = tuple(_names(one.denied_models) for one in levels if one.denied_models)
    return ModelRules(allowed=allowed, denied=denied) if allowed or denied else None


def compile_addresses(*holders: LimitedAccess | None) -> AddressRules | None:
    """Return what an address has to pass."""
    levels = [holder for holder in holders if holder is not None]
    allowed = tuple(
        _read_allowed(tuple(one.allowed_ips)) for one in levels if one.allowed_ips is not None
    )
    denied = [
        net for one in levels if one.denied_ips for net in _read_denied(tuple(one.denied_ips))
    ]
    if not allowed and not denied:
        return None
    return AddressRules(allowed=allowed, denied=tuple(dict.fromkeys(denied)))


def compile_callers(rules: AccessRules | None) -> CallerRules | None:
    """Return what the program and its country have to pass."""
    if rules is None:
        return None
    agents = [_as_pattern(text) for text in rules.denied_user_agents]
    countries = None
    if rules.allowed_countries or rules.denied_countries:
        countries = CountryRules(
            frozenset(rules.allowed_countries) or None, frozenset(rules.denied_countries)
        )
    if not agents and countries is None:
        return None
    denied = compile_names(tuple(agents)) if agents else None
    return CallerRules(denied_user_agents=denied, countries=countries)


def compile_hosts(rules: AccessRules | None) -> HostRules | None:
    """Return which hosts may be fetched from."""
    if rules is None or not (rules.allowed_hosts or rules.denied_hosts):
        return None
    return _shared_hosts(tuple(rules.allowed_hosts), tuple(rules.denied_hosts))


@lru_cache(maxsize=4096)
def _shared_hosts(allowed: tuple[str, ...], denied: tuple[str, ...]) -> HostRules:
    return HostRules(allowed, denied)


def _as_pattern(text: str) -> str:
    """Return what matches the whole header: a text without `*` may stand anywhere in it."""
    return text.lower() if "*" in text else f"*{text.lower()}*"


def _names(names: Sequence[str]) -> NamePatterns:
    return compile_names(tuple(names))


@lru_cache(maxsize=4096)
def _read_allowed(rules: tuple[str, ...]) -> Networks:
    """Return the networks. A rule that cannot be read allows nothing."""
    return _read_networks(rules, ())


@lru_cache(maxsize=4096)
def _read_denied(rules: tuple[str, ...]) -> Networks:
    """Return the networks. A rule that cannot be read denies everything."""
    return _read_networks(rules, EVERYWHERE)


def _read_networks(rules: tuple[str, ...], instead: Networks) -> Networks:
    networks: list[Network] = []
    for rule in rules:
        try:
            networks.append(ip_network(rule))
        except ValueError:
            log.error("An IP rule cannot be read: %r.", rule)
            networks += instead
    return tuple(networks)
