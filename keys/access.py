"""The access rules of a workspace, which all its keys are under besides their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.changes import differences, record_audit, record_change
from accounts.models import ConfigChange, Workspace
from accounts.text import is_visible
from keys.countries import CODES
from keys.fetch_hosts import read_allowed_hosts, read_denied_hosts
from keys.models import AccessRules, ApiKey
from keys.rules import (
    read_all,
    read_denied_models,
    read_denied_networks,
    read_model_names,
    read_networks,
)

MAX_USER_AGENTS = 200
MAX_DAYS = 3_650
USER_AGENT_CHARS = 200
NO_HEADER = (
    "The country of clients is unknown. An operator can set TOLLHOUSE_COUNTRY_HEADER to the header"
    " in which your proxy names it."
)


def access_rules_of(workspace: Workspace) -> AccessRules:
    """Return the workspace's rules; where there are none, some that refuse nothing, not saved."""
    found = AccessRules.objects.filter(workspace=workspace).first()
    return found or AccessRules(workspace=workspace)


def set_access_rules(
    workspace: Workspace,
    *,
    allowed_models: Sequence[str] = (),
    denied_models: Sequence[str] = (),
    allowed_ips: Sequence[str] | None = None,
    denied_ips: Sequence[str] = (),
    denied_user_agents: Sequence[str] = (),
    allowed_countries: Sequence[str] = (),
    denied_countries: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    denied_hosts: Sequence[str] = (),
    max_key_days: int | None = None,
    allow_any_address: bool = False,
    actor: str,
) -> bool:
    """Replace all access rules of a workspace. Returns False when nothing is different.

    Rules of models and IPs are as keys.services.issue_key takes them: a call has to pass those of
    the workspace and of its key. denied_user_agents: parts of the header, or with `*` all of it, in
    any case. Countries: ISO 3166 codes, XX for unknown; allowed_countries: empty means all.
    Hosts: those that URLs of calls, tools and files are fetched from, as keys.fetch_hosts reads
    them; allowed_hosts: empty means all. max_key_days: new keys expire within so many days, and
    those there are as many days from now; None is no limit. Raises ValidationError with one entry
    for each field that cannot be taken.
    """
    stored = access_rules_of(workspace)
    confirmed = allow_any_address or allowed_ips == stored.allowed_ips
    wanted = read_all(
        {
            "allowed_models": lambda: read_model_names(allowed_models),
            "denied_models": lambda: read_denied_models(denied_models),
            "allowed_ips": lambda: read_networks(allowed_ips, allow_any_address=confirmed),
            "denied_ips": lambda: read_denied_networks(denied_ips),
            "denied_user_agents": lambda: read_user_agents(denied_user_agents),
            "allowed_countries": lambda: read_countries(allowed_countries, "allowed_countries"),
            "denied_countries": lambda: read_countries(denied_countries, "denied_countries"),
            "allowed_hosts": lambda: read_allowed_hosts(allowed_hosts),
            "denied_hosts": lambda: read_denied_hosts(denied_hosts),
            "max_key_days": lambda: read_key_days(max_key_days),
        }
    )
    with transaction.atomic():
        stored, _ = AccessRules.objects.get_or_create(workspace=workspace)
        details = differences(stored, wanted)
        if details:
            AccessRules.objects.filter(pk=stored.pk).update(**wanted)
            if "max_key_days" in details and (capped := _cap_keys(workspace, max_key_days)):
                details["capped_keys"] = capped
            record_change(ConfigChange.Kind.WORKSPACE, workspace.pk.hex)
            record_audit(
                actor=actor,
                action="workspace.set_access_rules",
                target=workspace.slug,
                workspace=workspace,
                details=details,
            )
    return bool(details)


def max_key_days(workspace: Workspace) -> int | None:
    """Return how many days a secret may work at most, None for no limit."""
    rules = AccessRules.objects.filter(workspace=workspace)
    return rules.values_list("max_key_days", flat=True).first()


def lifetime_complaint(
    days: int | None, expires_at: datetime | None, *, since: datetime | None = None
) -> str:
    """Return what is wrong with the expiry of a key, empty for nothing.

    days: see max_key_days. since: when the key got its secret; None: now.
    """
    if days is None:
        return ""
    latest = (since or timezone.now()) + timedelta(days=days)
    if expires_at is not None and expires_at <= latest:
        return ""
    return (
        f"Keys of this workspace expire within {days:,} day{'' if days == 1 else 's'}. Choose"
        f" {latest:%Y-%m-%d %H:%M} UTC or earlier."
    )


def _cap_keys(workspace: Workspace, days: int | None) -> int:
    """Let keys that would live longer expire so many days from now; return how many they are."""
    if days is None:
        return 0
    latest = timezone.now() + timedelta(days=days)
    longer = Q(expires_at=None) | Q(expires_at__gt=latest)
    keys = ApiKey.objects.filter(longer, workspace=workspace, revoked_at=None)
    return keys.update(expires_at=latest)


def read_key_days(days: int | None) -> int | None:
    """Return the maximum lifetime of keys. Raises ValidationError."""
    if days is not None and not 1 <= days <= MAX_DAYS:
        words = f"Enter a whole number of days from 1 to {MAX_DAYS:,}, or leave empty for no limit."
        raise ValidationError({"max_key_days": words})
    return days


def read_user_agents(patterns: Sequence[str]) -> list[str]:
    """Return the patterns trimmed, once each. Raises ValidationError."""
    if len(patterns) > MAX_USER_AGENTS:
        words = f"Enter at most {MAX_USER_AGENTS} patterns (now {len(patterns)})."
        raise ValidationError({"denied_user_agents": words})
    found = list(dict.fromkeys(pattern.strip() for pattern in patterns))
    if errors := list(_complaints(found)):
        raise ValidationError({"denied_user_agents": errors[:5]})
    return found


def _complaints(patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        shown = repr(pattern[:40])
        if not pattern.strip("* "):
            yield f"{shown} blocks every program. Enter a part of the User-Agent."
        elif len(pattern) > USER_AGENT_CHARS or not (is_visible(pattern) and pattern.isascii()):
            yield f"{shown} is not valid: enter at most {USER_AGENT_CHARS} ASCII characters."


def read_countries(codes: Sequence[str], field: str) -> list[str]:
    """Return the codes in upper case and in order, once each. Raises ValidationError."""
    found = sorted({code.strip().upper() for code in codes})
    unknown = [code for code in found if code not in CODES]
    if unknown:
        words = f"{unknown[0][:40]!r} is not an ISO 3166 country code. Use DE, GB, or XX (unknown)."
        raise ValidationError({field: words})
    if found and not settings.COUNTRY_HEADER:
        raise ValidationError({field: NO_HEADER})
    return found
