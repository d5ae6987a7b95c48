"""How the secrets of new keys begin: as those of a product do, or as somebody chooses.

Cosmetic: a key is found by its digest, and what it begins with decides nothing about it.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError

from accounts.models import Workspace
from gateway.core.profiles import BY_NAME, UNIFIED, profiles_of
from keys.models import CompatProfile


def offered_prefixes() -> dict[str, str]:
    """Return the prefixes that this installation offers, each with the products that use it."""
    labels = dict(CompatProfile.choices)
    return {
        prefix: ", ".join(str(labels[profile.name]) for profile in profiles_of(prefix))
        for prefix in settings.KEY_PREFIXES
    }


def prefix_for(workspace: Workspace, compat_profile: str) -> str:
    """Return how a key begins for which nobody chose that: as its profile's do.

    compat_profile: empty for the workspace's, or the installation's.
    """
    wanted = compat_profile or workspace.compat_profile or settings.DEFAULT_PROFILE
    profile = BY_NAME.get(wanted, UNIFIED)
    offered: list[str] = settings.KEY_PREFIXES
    return next((prefix for prefix in profile.key_prefixes if prefix in offered), offered[0])


def only_profile_of(prefix: str) -> str:
    """Return the profile whose keys begin so; empty where none does or several do."""
    found = profiles_of(prefix)
    return found[0].name if len(found) == 1 else ""


def read_prefix(prefix: str) -> str:
    """Return the prefix. Raises ValidationError unless it is one that is offered."""
    if prefix not in settings.KEY_PREFIXES:
        known = ", ".join(settings.KEY_PREFIXES)
        raise ValidationError({"key_prefix": f"A key must begin with one of {known}."})
    return prefix
