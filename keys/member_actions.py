"""What members do with keys, each within their role. Pages and API come here; commands, which
run on the host with an operator's rights, call keys.services themselves.

Every function raises NotAllowed when the person may not do it at all, and ValidationError
with an entry for each field that reaches further than they may go.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.all_errors import raising_all
from accounts.budgets import has_own_budget
from accounts.models import User, Workspace
from accounts.permissions import Action, NotAllowed, may
from accounts.untyped import Arguments
from keys import importing, rotation, services
from keys.importing import read_imported_secret
from keys.limits import read_limits
from keys.models import ApiKey
from keys.policy import check_policy, check_tightened, count_keys_made, policy_of
from keys.prefixes import prefix_for
from keys.selectors import may_change, may_edit
from keys.services import IssuedKey

REFUSED = "Only owners and admins can change or revoke keys of other members."
NO_SERVICE_KEYS = "Only owners and admins can create service keys."
UNDER_BUDGET = (
    "You have a budget in this workspace, and service keys are under none. Ask another owner or"
    " admin."
)
ABOVE = "This key has a scope that only owners and admins can assign."


@transaction.atomic
def create_key(
    *,
    workspace: Workspace,
    person: User,
    rules: Arguments,
    compatibility: Arguments,
    limits: Mapping[str, int | None],
    prefix: str = "",
    imported_secret: str = "",
    is_service: bool = False,
) -> IssuedKey:
    """Create a key as this person's, or a service key, which is the workspace's own.

    rules, compatibility, limits: as issue_key, set_compatibility and set_limits take them. prefix:
    how the secret begins; empty for what keys of the profile begin with. imported_secret: one that
    was issued elsewhere, and becomes this key's.
    """
    if not may(person, Action.MAKE_KEYS, workspace):
        raise NotAllowed("Your role in this workspace cannot create keys.")
    is_bound = not may(person, Action.MANAGE_KEYS, workspace)
    if imported_secret and is_bound:
        raise NotAllowed(importing.REFUSED)
    if is_service:
        if is_bound:
            raise NotAllowed(NO_SERVICE_KEYS)
        _refuse_beside_budget(person, workspace)
    if is_bound:
        _refuse_one_too_many(workspace, person)
    imported = None
    with raising_all() as gather:
        with gather():
            imported = read_imported_secret(imported_secret, workspace) if imported_secret else None
        with gather():
            read_limits(limits)
        with gather():
            if is_service:
                services.refuse_more_than_held(rules["scopes"], person, workspace)
        with gather():
            issued = services.issue_key(
                workspace=workspace,
                created_by=None if is_service else person,
                actor=person.email,
                prefix=prefix or prefix_for(workspace, compatibility["compat_profile"]),
                imported=imported,
                **rules,
            )
    services.set_compatibility(issued.key, actor=person.email, **compatibility)
    services.set_limits(issued.key, limits=limits, actor=person.email)
    if is_bound:
        _refuse_beyond_policy(issued.key)
    return issued


@transaction.atomic
def change_key(
    key: ApiKey,
    *,
    person: User,
    rules: Arguments,
    compatibility: Arguments,
    limits: Mapping[str, int | None],
) -> bool:
    """Replace everything that is set on a key. Returns False when nothing is different.

    Who does not manage keys tightens: nothing becomes wider than it was, or than the policy.
    """
    # Locked, where the database locks rows: nobody tightens it between this look and the writing.
    stored = ApiKey.objects.select_for_update().get(pk=key.pk)
    if not may_change(person, stored):
        raise NotAllowed(REFUSED)
    if stored.revoked_at is None and not may_edit(person, stored):
        raise NotAllowed(ABOVE)
    with raising_all() as gather:
        with gather():
            is_updated = services.update_key(key, changed_by=person, actor=person.email, **rules)
        with gather():
            read_limits(limits)
    changed = [
        is_updated,
        services.set_compatibility(key, actor=person.email, **compatibility),
        services.set_limits(key, limits=limits, actor=person.email),
    ]
    if any(changed) and not may(person, Action.MANAGE_KEYS, stored.workspace):
        check_tightened(key, stored)
    return any(changed)


def rotate_key(key: ApiKey, *, person: User, overlap: timedelta) -> IssuedKey:
    """Give a key a new secret: see keys.rotation. Who gets it can do all that the key may."""
    if not may_change(person, key):
        raise NotAllowed(REFUSED)
    if key.revoked_at is None and not may_edit(person, key):
        raise NotAllowed(ABOVE)
    return rotation.rotate_key(key, overlap=overlap, actor=person.email)


def revoke_key(key: ApiKey, *, person: User) -> bool:
    """Stop a key for good. Returns False when it was already revoked."""
    if not may_change(person, key):
        raise NotAllowed(REFUSED)
    return services.revoke_key(key, actor=person.email)


def transfer_key(key: ApiKey, *, person: User) -> bool:
    """Make a member's key the workspace's own. Returns False when it was."""
    if not may(person, Action.MANAGE_KEYS, key.workspace):
        raise NotAllowed("Only owners and admins can transfer keys to the workspace.")
    _refuse_beside_budget(person, key.workspace)
    return services.disown_key(key, actor=person.email)


def reset_total(key: ApiKey, *, spent_nusd: int, person: User) -> bool:
    """Count a key's total from nothing again, which lifts a limit: see services.reset_total."""
    if not may(person, Action.MANAGE_KEYS, key.workspace):
        raise NotAllowed("Only owners and admins can reset the total of a key.")
    return services.reset_total(key, spent_nusd=spent_nusd, actor=person.email)


def _refuse_beside_budget(person: User, workspace: Workspace) -> None:
    """Service keys are under no member's budget: whoever has one makes none."""
    if has_own_budget(person, workspace):
        raise NotAllowed(UNDER_BUDGET)


def _refuse_beyond_policy(key: ApiKey) -> None:
    check_policy(key, policy_of(key.workspace))


def _refuse_one_too_many(workspace: Workspace, person: User) -> None:
    most = policy_of(workspace).max_keys
    if most is None:
        return
    # Writing to the workspace's row makes those who make keys at the same moment wait in turn.
    Workspace.objects.filter(pk=workspace.pk).update(slug=workspace.slug)
    if count_keys_made(workspace, person.pk) >= most:
        raise ValidationError(
            f"Developers may have {most} keys here, and you have as many. Keys revoked this month"
            " count. Ask an owner or admin."
        )
