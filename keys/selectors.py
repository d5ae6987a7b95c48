"""Questions about keys. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from uuid import UUID

from django.db.models import Count, QuerySet

from accounts.models import Membership, User, Workspace
from accounts.permissions import RULES, Action, may
from keys.models import ApiKey, RetiredSecret, Scope
from keys.secret import HINT_CHARS, digest_secret

# What somebody must be allowed to do to give a key the scope. `usage` reads what the key itself
# has spent, which whoever makes keys may see; any other scope is for all who make keys.
_NEEDED: dict[str, Action] = dict.fromkeys(Scope.values, Action.MAKE_KEYS) | {
    Scope.USAGE_WORKSPACE: Action.MANAGE_KEYS,
    Scope.ADMIN: Action.MANAGE_WORKSPACE,
}

# Those that not everybody who makes keys may give.
ADMIN_SCOPES = frozenset(s for s, action in _NEEDED.items() if action != Action.MAKE_KEYS)

# Those that everybody who makes keys may give.
DEVELOPER_SCOPES = [scope for scope, action in _NEEDED.items() if action == Action.MAKE_KEYS]


def keys_visible_to(user: User, workspace: Workspace) -> QuerySet[ApiKey]:
    """Return the keys of the workspace that this person may see, newest first.

    Members who may not see all of them see those they made.
    """
    keys = ApiKey.objects.filter(workspace=workspace).select_related("created_by")
    if may(user, Action.VIEW_KEYS, workspace):
        return keys
    if may(user, Action.VIEW_OWN_USAGE, workspace):
        return keys.filter(created_by=user)
    return keys.none()


def keys_explainable_by(user: User, workspace: Workspace) -> QuerySet[ApiKey]:
    """Return the keys with which this person may have calls explained, newest first: those that
    they may_change, also when they are revoked."""
    keys = ApiKey.objects.filter(workspace=workspace)
    if may(user, Action.MANAGE_KEYS, workspace):
        return keys
    if may(user, Action.MAKE_KEYS, workspace):
        return keys.filter(created_by=user)
    return keys.none()


def may_change(person: User, key: ApiKey) -> bool:
    """True when this person may revoke the key and, if may_edit, write its rules."""
    is_own = key.created_by_id == person.pk
    return may(person, Action.MAKE_KEYS if is_own else Action.MANAGE_KEYS, key.workspace)


def may_edit(person: User, key: ApiKey) -> bool:
    """True when this person may write the rules of the key: it is not revoked, theirs to change,
    and has no scope that is not theirs to give."""
    if key.revoked_at is not None or not may_change(person, key):
        return False
    return set(key.scopes) <= grantable_scopes(person, key.workspace)


def keys_left_by(membership: Membership) -> QuerySet[ApiKey]:
    """Return the keys, not revoked, that this member made in this workspace."""
    keys = ApiKey.objects.filter(workspace=membership.workspace, created_by=membership.user)
    return keys.filter(revoked_at=None).select_related("workspace")


def count_usable_keys(workspace_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many usable keys each of these workspaces has; those without are left out."""
    keys = ApiKey.objects.usable().filter(workspace_id__in=workspace_ids)
    return dict(keys.order_by().values_list("workspace_id").annotate(Count("pk")))


def usable_keys_by_member(workspace: Workspace) -> dict[int, int]:
    """Return how many usable keys each person made, by their id; who made none is left out."""
    keys = ApiKey.objects.usable().filter(workspace=workspace).exclude(created_by=None)
    return dict(keys.order_by().values_list("created_by").annotate(Count("pk")))


def grantable_scopes(user: User, workspace: Workspace) -> frozenset[str]:
    """Return the scopes that this person may put on a key: never more than they have."""
    held = {action for action in set(_NEEDED.values()) if may(user, action, workspace)}
    return frozenset(scope for scope, action in _NEEDED.items() if action in held)


def keys_by_digest(digests: Collection[str]) -> dict[str, ApiKey]:
    """Return the key of each digest of a secret, also of one that it had before."""
    found = {key.digest: key for key in ApiKey.objects.filter(digest__in=digests)}
    retired = RetiredSecret.objects.filter(digest__in=digests).select_related("key")
    return {one.digest: one.key for one in retired} | found


@lru_cache(maxsize=32)
def scopes_of_role(role: str, *, is_operator: bool = False) -> frozenset[str]:
    """Return the scopes that somebody with the role may put on a key. Empty role: no member."""
    return frozenset(
        scope for scope, action in _NEEDED.items() if is_operator or role in RULES[action]
    )


def scopes_in_effect(key: ApiKey, held: frozenset[str]) -> frozenset[str]:
    """Return the scopes that a member's key has now (docs/adr/0050).

    held: those that its owner may give now. Where that is none, the key has none either; else it
    has besides those what somebody assigned who may.
    """
    return frozenset(key.scopes) & (held | frozenset(key.granted_scopes)) if held else held


def scopes_without_effect(key: ApiKey) -> list[str]:
    """Return the scopes of a key that its owner may not give any more."""
    if key.created_by is None:
        return []
    held = grantable_scopes(key.created_by, key.workspace)
    return sorted(set(key.scopes) - scopes_in_effect(key, held))


def beyond_owner(scopes: Collection[str], owner: User | None, workspace: Workspace) -> list[str]:
    """Return the scopes that the owner of a key could not assign, but owners and admins can."""
    if owner is None:
        return []
    return sorted((set(scopes) & ADMIN_SCOPES) - grantable_scopes(owner, workspace))


def get_key(text: str) -> ApiKey:
    """Return the key with this id, secret, or last four characters of the secret.

    Raises LookupError with a sentence for people, which never repeats the text: it may be a
    secret.
    """
    text = text.strip()
    if len(text) == HINT_CHARS:
        found = list(ApiKey.objects.filter(hint=text)[:10])
    else:
        # An imported secret may look like an id: whose secret it is, comes second.
        found = _by_id(text) or list(keys_by_digest([digest_secret(text)]).values())
    if len(found) > 1:
        ids = ", ".join(str(key.pk) for key in found)
        raise LookupError(f"Several keys end in these characters. Use an ID: {ids}.")
    if not found:
        raise LookupError("The key does not exist. Use its ID, secret or last 4 characters.")
    return found[0]


def _by_id(text: str) -> list[ApiKey]:
    try:
        return list(ApiKey.objects.filter(pk=UUID(text)))
    except ValueError:
        return []
