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
    VIEW_MEMBERS = "view_members"
    VIEW_AUDIT = "view_audit"  # who changed what
    MANAGE_MEMBERS = "manage_members"  # whom to give which role: see roles_given_by
    MANAGE_WORKSPACE = "manage_workspace"  # locking it included
    UNLOCK_WORKSPACE = "unlock_workspace"  # operators alone: they lock for reasons of their own
    MANAGE_CATALOGUE = "manage_catalogue"  # providers, models, prices: the installation's
    MANAGE_WORKSPACES = "manage_workspaces"  # see all of them, and make new ones


_EVERYONE = frozenset({Action.VIEW_OWN_USAGE, Action.VIEW_MEMBERS})
_BY_ROLE: dict[str, frozenset[Action]] = {
    Role.OWNER: _EVERYONE
    | {
        Action.VIEW_USAGE,
        Action.VIEW_KEYS,
        Action.MANAGE_KEYS,
        Action.VIEW_CREDITS,
        Action.MANAGE_MEMBERS,
        Action.VIEW_AUDIT,
        Action.MANAGE_WORKSPACE,
    },
    Role.ADMIN: _EVERYONE
    | {
        Action.VIEW_USAGE,
        Action.VIEW_KEYS,
        Action.MANAGE_KEYS,
        Action.VIEW_CREDITS,
        Action.MANAGE_MEMBERS,
        Action.VIEW_AUDIT,
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
    return action in _BY_ROLE.get(_role_of(user, workspace), frozenset())


def roles_given_by(user: User, workspace: Workspace) -> frozenset[str]:
    """Return the roles that this person may give and take away there.

    Owners and operators all of them; admins all but the owner's, so that nobody makes themselves
    what only an owner can make them.
    """
    if not may(user, Action.MANAGE_MEMBERS, workspace):
        return frozenset()
    if user.is_operator or _role_of(user, workspace) == Role.OWNER:
        return frozenset(Role.values)
    return frozenset(Role.values) - {Role.OWNER.value}


def _role_of(user: User, workspace: Workspace) -> str:
    """Return the person's role there, empty when they have none."""
    roles = Membership.objects.filter(user=user, workspace=workspace).values_list("role", flat=True)
    return roles.first() or ""
