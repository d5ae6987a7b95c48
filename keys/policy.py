"""How far a key reaches, and where one reaches further than another or than a policy allows.

A developer may make a key that stays within the workspace's DeveloperKeyPolicy, and may tighten
the keys they made; only who manages keys widens one (docs/adr/0037).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.limits import SPENDING
from accounts.models import Workspace
from gateway.core.money import format_usd
from gateway.core.name_patterns import first_beyond
from keys.limits import limits_of
from keys.models import ApiKey, DeveloperKeyPolicy
from keys.rules import Network

ASK = "Owners and admins of this workspace can raise this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a key may do."""

    # None means any, for scopes, models and networks.
    scopes: frozenset[str] | None
    models: frozenset[str] | None
    networks: tuple[Network, ...] | None
    denied_models: frozenset[str] = frozenset()
    denied_networks: tuple[Network, ...] = ()
    # As they take effect, by their names in keys.limits; None is no limit.
    limits: Mapping[str, int | None]
    allows_chat_template: bool
    # None means never.
    expires_at: datetime | None = None
    # The compatibility profile that no request may leave; None where it may.
    fixed_profile: str | None = None


def find_policy(workspace: Workspace) -> DeveloperKeyPolicy | None:
    return DeveloperKeyPolicy.objects.filter(workspace=workspace).first()


def policy_of(workspace: Workspace) -> DeveloperKeyPolicy:
    """Return the workspace's policy; where there is none, one that limits nothing, not saved."""
    return find_policy(workspace) or DeveloperKeyPolicy(workspace=workspace)


def reach_of(key: ApiKey) -> Reach:
    return Reach(
        scopes=frozenset(key.scopes),
        models=frozenset(key.allowed_models) or None,
        networks=_networks(key.allowed_ips),
        denied_models=frozenset(key.denied_models),
        denied_networks=_networks(key.denied_ips) or (),
        limits=_in_effect(key),
        allows_chat_template=key.allows_chat_template,
        expires_at=key.expires_at,
        fixed_profile=None if key.allows_profile_override else key.compat_profile,
    )


def reach_of_policy(policy: DeveloperKeyPolicy) -> Reach:
    return Reach(
        scopes=None if policy.scopes is None else frozenset(policy.scopes),
        models=frozenset(policy.allowed_models) or None,
        networks=_networks(policy.allowed_ips),
        limits=_in_effect(policy),
        allows_chat_template=policy.allows_chat_template,
    )


def find_wider(inner: Reach, outer: Reach) -> dict[str, str]:
    """Return where inner reaches further than outer: a sentence by field of keys.services."""
    return dict(_wider_rules(inner, outer)) | _wider_limits(inner.limits, outer.limits)


def check_policy(key: ApiKey, policy: DeveloperKeyPolicy) -> None:
    """Raise ValidationError where the key, which need not be saved, may do more than the policy
    allows."""
    if wider := find_wider(reach_of(key), reach_of_policy(policy)):
        raise ValidationError(wider)


def check_tightened(key: ApiKey, stored: ApiKey) -> None:
    """Raise ValidationError where the key, which need not be saved, may do more than the stored one
    or than its workspace's policy allows."""
    reach = reach_of(key)
    policy = reach_of_policy(policy_of(stored.workspace))
    if wider := find_wider(reach, policy) | find_wider(reach, reach_of(stored)):
        raise ValidationError(wider)


def count_keys_made(workspace: Workspace, person_id: int) -> int:
    """Return how many keys count against DeveloperKeyPolicy.max_keys.

    One that was revoked this month (UTC) still does: a new key in its place would begin with a
    day's and a month's spending limit anew.
    """
    month = timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    made = ApiKey.objects.filter(workspace=workspace, created_by_id=person_id)
    return made.exclude(revoked_at__lt=month).count()


def _wider_rules(inner: Reach, outer: Reach) -> Iterator[tuple[str, str]]:
    if beyond := _beyond(inner.scopes, outer.scopes):
        yield "scopes", f"This key cannot have {beyond}. {ASK}"
    if beyond := _models_beyond(inner.models, outer.models):
        yield "allowed_models", f"This key cannot use {beyond}. {ASK}"
    if beyond := first_beyond(outer.denied_models, inner.denied_models):
        yield "denied_models", f"This key cannot use {beyond}. {ASK}"
    if not _networks_within(inner.networks, outer.networks):
        allowed = ", ".join(map(str, (outer.networks or ())[:5])) or "no address"
        yield "allowed_ips", f"This key can only be used from {allowed}. {ASK}"
    if not _networks_within(outer.denied_networks, inner.denied_networks):
        denied = ", ".join(map(str, outer.denied_networks[:5]))
        yield "denied_ips", f"This key cannot be used from {denied}. {ASK}"
    if inner.allows_chat_template and not outer.allows_chat_template:
        yield "allows_chat_template", f"Calls of this key cannot send one. {ASK}"
    if outer.expires_at is not None and (
        inner.expires_at is None or inner.expires_at > outer.expires_at
    ):
        yield "expires_at", f"The key expires at {outer.expires_at:%Y-%m-%d %H:%M} UTC. {ASK}"
    if outer.fixed_profile is not None and inner.fixed_profile != outer.fixed_profile:
        yield "compat_profile", f"The profile of this key is fixed. {ASK}"


def _wider_limits(
    inner: Mapping[str, int | None], outer: Mapping[str, int | None]
) -> dict[str, str]:
    wider = {}
    for name, most in outer.items():
        value = inner[name]
        if most is not None and (value is None or value > most):
            shown = f"{format_usd(most)} USD" if name in SPENDING else f"{most:,}"
            wider[name] = f"At most {shown}. {ASK}"
    if "max_requests_per_minute" in wider and inner["burst"] == inner["max_requests_per_minute"]:
        wider.pop("burst", None)  # it follows from the other, and is put right with it
    return wider


def _beyond(inner: Collection[str] | None, outer: Collection[str] | None) -> str:
    """Return the first of inner that outer lacks; empty: there is none."""
    if outer is None:
        return ""
    if inner is None:
        return "any other than " + ", ".join(sorted(outer)[:5])
    return min(set(inner).difference(outer), default="")


def _models_beyond(inner: Collection[str] | None, outer: Collection[str] | None) -> str:
    """Do the same where outer may have patterns."""
    if inner is None or outer is None:
        return _beyond(inner, outer)
    return first_beyond(inner, outer)


def _networks_within(inner: tuple[Network, ...] | None, outer: tuple[Network, ...] | None) -> bool:
    if outer is None:
        return True
    return inner is not None and all(
        any(_is_part(network, wide) for wide in outer) for network in inner
    )


def _is_part(network: Network, wide: Network) -> bool:
    if isinstance(network, IPv4Network) and isinstance(wide, IPv4Network):
        return network.subnet_of(wide)
    if isinstance(network, IPv6Network) and isinstance(wide, IPv6Network):
        return network.subnet_of(wide)
    return False


def _networks(rules: list[str] | None) -> tuple[Network, ...] | None:
    return None if rules is None else tuple(ip_network(rule) for rule in rules)


def _in_effect(holder: ApiKey | DeveloperKeyPolicy) -> dict[str, int | None]:
    """Return the limits with what the installation and other limits put in for those not set."""
    limits = limits_of(holder)
    burst_default = limits["max_requests_per_minute"]
    if limits["max_requests_per_minute"] is None and settings.KEY_REQUESTS_PER_MINUTE:
        limits["max_requests_per_minute"] = settings.KEY_REQUESTS_PER_MINUTE
        burst_default = settings.KEY_BURST or settings.KEY_REQUESTS_PER_MINUTE
    limits["burst"] = limits["burst"] or burst_default
    return limits
