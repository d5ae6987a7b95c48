"""Who may do what: the permission rules. Views and API ask here and nowhere else.

docs/roles.md shows it as a table (dashboard.roles_page).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from uuid import UUID

from django.core.exceptions import PermissionDenied

from accounts.models import Membership, Role, User, Workspace


class NotAllowed(PermissionDenied):
    """The person may not do this. The message is shown on the page."""


class Action(StrEnum):
    """Everything that needs a permission."""

    VIEW_USAGE = "view_usage"
    VIEW_OWN_USAGE = "view_own_usage"
    VIEW_KEYS = "view_keys"
    MAKE_KEYS = "make_keys"
    MANAGE_KEYS = "manage_keys"
    IMPORT_DIGESTS = "import_digests"
    VIEW_FILES = "view_files"
    MANAGE_FILES = "manage_files"
    VIEW_CREDITS = "view_credits"
    GRANT_CREDITS = "grant_credits"
    VIEW_MEMBERS = "view_members"
    LEAVE_WORKSPACE = "leave_workspace"
    VIEW_AUDIT = "view_audit"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_WORKSPACE = "manage_workspace"
    UNLOCK_WORKSPACE = "unlock_workspace"
    MANAGE_CATALOGUE = "manage_catalogue"
    MANAGE_WORKSPACES = "manage_workspaces"
    MANAGE_HOSTS = "manage_hosts"


_EVERYONE = frozenset(Role.values)
_ADMINS = frozenset({Role.OWNER.value, Role.ADMIN.value})
_OPERATORS = frozenset[str]()  # no role in a workspace covers it

# The roles that may do each; operators may do everything, everywhere.
RULES: Mapping[Action, frozenset[str]] = {
    Action.VIEW_USAGE: _ADMINS | {Role.BILLING, Role.VIEWER},
    Action.VIEW_OWN_USAGE: _EVERYONE,
    Action.VIEW_KEYS: _ADMINS | {Role.DEVELOPER, Role.VIEWER},
    Action.MAKE_KEYS: _ADMINS | {Role.DEVELOPER},
    Action.MANAGE_KEYS: _ADMINS,
    Action.IMPORT_DIGESTS: _OPERATORS,  # a digest proves nothing about who has the key
    Action.VIEW_FILES: _ADMINS | {Role.DEVELOPER, Role.VIEWER},
    Action.MANAGE_FILES: _ADMINS | {Role.DEVELOPER},
    Action.VIEW_CREDITS: _ADMINS | {Role.BILLING},
    Action.GRANT_CREDITS: _OPERATORS,
    Action.VIEW_MEMBERS: _EVERYONE,
    Action.LEAVE_WORKSPACE: _EVERYONE,
    Action.VIEW_AUDIT: _ADMINS,
    Action.MANAGE_MEMBERS: _ADMINS,
    Action.MANAGE_WORKSPACE: _ADMINS,
    Action.UNLOCK_WORKSPACE: _OPERATORS,  # operators lock for reasons of their own
    Action.MANAGE_CATALOGUE: _OPERATORS,
    Action.MANAGE_WORKSPACES: _OPERATORS,
    Action.MANAGE_HOSTS: _OPERATORS,
}

# What each covers, for the table of docs/roles.md.
WORDS: Mapping[Action, str] = {
    Action.VIEW_USAGE: "View usage and calls of the workspace",
    Action.VIEW_OWN_USAGE: "View usage and calls of your own keys",
    Action.VIEW_KEYS: "View all keys, their rules and limits, never their secrets",
    Action.MAKE_KEYS: "Create keys within the workspace's maximum for developers. Rename, "
    "restrict, rotate and revoke your own keys, explain calls with them",
    Action.MANAGE_KEYS: "Change or revoke any key, explain calls with it, raise or remove limits, "
    "reset a key's total, create service keys and transfer keys to the workspace, assign the scope "
    "`usage.workspace`, set the maximum for developers' keys, import keys issued elsewhere",
    Action.IMPORT_DIGESTS: "Import keys by SHA-256 digest, without the key itself",
    Action.VIEW_FILES: "View the names and sizes of stored files",
    Action.MANAGE_FILES: "Upload, download and delete stored files",
    Action.VIEW_CREDITS: "View balance and ledger",
    Action.GRANT_CREDITS: "Add or remove credit",
    Action.VIEW_MEMBERS: "View members",
    Action.LEAVE_WORKSPACE: "Leave the workspace",
    Action.VIEW_AUDIT: "View the audit log of the workspace",
    Action.MANAGE_MEMBERS: "Invite and remove members, change their roles and budgets "
    "(of owners: by owners only; never one's own budget)",
    Action.MANAGE_WORKSPACE: "Change name, time zone, access rules, MCP servers, profile and "
    "request logging. Set limits and budgets of the workspace, limits of its members and its keys. "
    "Lock the workspace. Assign the scope `admin` to a key",
    Action.UNLOCK_WORKSPACE: "Unlock the workspace",
    Action.MANAGE_CATALOGUE: "Manage providers, models, prices and limits of the installation",
    Action.MANAGE_WORKSPACES: "View all workspaces, create workspaces, set their storage limits",
    Action.MANAGE_HOSTS: "View the server processes of all hosts, declare a journal lost",
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
    return _role_of(user, workspace) in RULES[action]


def where_allowed(user: User, action: Action, workspaces: Iterable[Workspace]) -> frozenset[UUID]:
    """Return the ids of those of these workspaces in which the person may do this."""
    ids = [workspace.pk for workspace in workspaces]
    if user.is_active and user.is_operator:
        return frozenset(ids)
    allowed = Membership.objects.filter(user=user, workspace__in=ids, role__in=RULES[action])
    return frozenset(allowed.values_list("workspace_id", flat=True) if user.is_active else ())


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
