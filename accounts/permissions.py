"""Who may do what: the one rule book. Views and API ask here and nowhere else."""

from __future__ import annotations

from enum import StrEnum

from accounts.models import Membership, Role, User, Workspace


class Action(StrEnum):
    """Everything that somebody could be refused."""

    VIEW_USAGE = "view_usage"  # totals and calls of the whole workspace
    VIEW_OWN_USAGE = "view_own_usage"  # those of the keys one has created
    VIEW_KEYS = "view_keys"
    MANAGE_KEYS = "manage_keys"
    VIEW_CREDITS = "view_credits"
    GRANT_CREDITS = "grant_credits"
    MANAGE_WORKSPACE = "manage_workspace"  # locking it included
    UNLOCK_WORKSPACE = "unlock_workspace"  # operators alone: they lock for reasons of their own
    MANAGE_CATALOGUE = "manage_catalogue"  # providers, models, prices: the installation's


_EVERYONE = frozenset({Action.VIEW_OWN_USAGE})
_BY_ROLE: dict[str, frozenset[Action]] = {
    Role.OWNER: _EVERYONE
    | {
        Action.VIEW_USAGE,
        Action.VIEW_KEYS,
        Action.MANAGE_KEYS,
        Action.VIEW_CREDITS,
        Action.MANAGE_WORKSPACE,
    },
    Role.ADMIN: _EVERYONE
    | {
        Action.VIEW_USAGE,
        Action.VIEW_KEYS,
        Action.MANAGE_KEYS,
        Action.VIEW_CREDITS,
        Action.MANAGE_WORKSPACE,
    },
    Role.DEVELOPER: _EVERYONE | {Action.VIEW_KEYS, Action.MANAGE_KEYS},
    Role.BILLING: _EVERYONE | {Action.VIEW_USAGE, Action.VIEW_CREDITS},
    Role.VIEWER: _EVERYONE | {Action.VIEW_USAGE, Action.VIEW_KEYS},
}


def may(user: User, action: Action, workspace: Workspace | None = None) -> bool:
    """True when the person may do this. Operators may do everything, everywhere.

    workspace: what the action concerns; None for the installation's own matters, which are
    the operators' alone.
    """
    if not user.is_active:
        return False
    if user.is_operator:
        return True
    if workspace is None:
        return False
    membership = Membership.objects.filter(user=user, workspace=workspace).first()
    return membership is not None and action in _BY_ROLE[membership.role]
