"""The only module that writes keys, but for keys.importing, which writes many at a time.

Pages, API, tasks and commands all come here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.all_errors import raising_all
from accounts.changes import differences, record_audit, record_change, record_changes
from accounts.models import ConfigChange, User, Workspace
from gateway.core.budget_owner import member_owner
from gateway.core.json_types import JsonObject
from keys.access import lifetime_complaint, max_key_days
from keys.limits import read_limits
from keys.models import ApiKey, CompatProfile, DeveloperKeyPolicy, default_scopes
from keys.prefixes import prefix_for, read_prefix
from keys.rules import (
    KeyRules,
    as_json,
    read_all,
    read_model_names,
    read_networks,
    read_rules,
    read_scopes,
)
from keys.secret import KeptSecret, digest_secret, keep_secret, new_secret
from keys.selectors import beyond_owner, grantable_scopes, scopes_without_effect

MAX_KEYS = 10_000

__all__ = [
    "IssuedKey",
    "digest_secret",
    "disown_key",
    "issue_key",
    "read_max_keys",
    "refuse_more_than_held",
    "refuse_until",
    "reset_total",
    "revoke_key",
    "set_compatibility",
    "set_developer_key_policy",
    "set_limits",
    "update_key",
]


class IssuedKey(NamedTuple):
    """A new key with the only copy of its secret that will ever exist; "" for an imported one."""

    key: ApiKey
    secret: str

    def __repr__(self) -> str:
        return f"IssuedKey({self.key})"


def issue_key(
    *,
    workspace: Workspace,
    label: str,
    scopes: Sequence[str] | None = None,
    allowed_models: Sequence[str] = (),
    denied_models: Sequence[str] = (),
    allowed_ips: Sequence[str] | None = None,
    denied_ips: Sequence[str] = (),
    expires_at: datetime | None = None,
    created_by: User | None = None,
    actor: str,
    allow_any_address: bool = False,
    prefix: str = "",
    imported: KeptSecret | None = None,
) -> IssuedKey:
    """Create a key and return it with its secret.

    scopes: None means the default ones. allowed_models: empty means all. allowed_ips: None means
    any address, [] means none. What is denied is refused whatever allows it. created_by: the
    person who asks, if one does; the key cannot be given more than they may do. allow_any_address:
    confirms rules that let everyone in. prefix: how the secret begins; empty for what keys of the
    workspace's profile begin with. imported: what is kept of a secret that was issued elsewhere;
    none is made, and none is returned. Raises ValidationError with all that cannot be taken.
    """
    with raising_all() as gather:
        with gather():
            rules = read_rules(
                label=label,
                scopes=default_scopes() if scopes is None else scopes,
                allowed_models=allowed_models,
                denied_models=denied_models,
                allowed_ips=allowed_ips,
                denied_ips=denied_ips,
                expires_at=expires_at,
                allow_any_address=allow_any_address,
            )
        with gather():
            if expires_at is None or timezone.is_aware(expires_at):
                check_lifetime(workspace, expires_at)
        with gather():
            if "scopes" not in gather.errors:
                refuse_more_than_held(scopes or default_scopes(), created_by, workspace)
    secret, kept, action = "", imported, "key.import"
    if kept is None:
        prefix = read_prefix(prefix or prefix_for(workspace, ""))
        secret = new_secret(prefix)
        kept, action = keep_secret(secret, prefix), "key.issue"
    try:
        with transaction.atomic():
            key = ApiKey.objects.create(
                workspace=workspace, created_by=created_by, **kept._asdict(), **rules
            )
            _record(key, actor=actor, action=action, details=as_json(rules))
    except IntegrityError:
        if imported is None:
            raise
        words = "Someone else imported this key at the same time."
        raise ValidationError({"secret": words}) from None
    return IssuedKey(key, secret)


def update_key(
    key: ApiKey,
    *,
    label: str,
    scopes: Sequence[str],
    allowed_models: Sequence[str],
    denied_models: Sequence[str],
    allowed_ips: Sequence[str] | None,
    denied_ips: Sequence[str],
    expires_at: datetime | None,
    actor: str,
    changed_by: User | None = None,
    allow_any_address: bool = False,
) -> bool:
    """Replace the label and rules of a key. Returns False when nothing is different.

    changed_by: the person who asks, if one does; a key that may do more than they may, before or
    after, is not theirs to edit. What else they may change is for keys.member_actions.
    Raises ValidationError as issue_key does, and when the key is revoked.
    """
    with transaction.atomic():
        stored = ApiKey.objects.select_related("workspace", "created_by").get(pk=key.pk)
        with raising_all() as gather:
            with gather():
                # What stays as it was needs no second confirmation, and may have expired meanwhile.
                rules = read_rules(
                    label=label,
                    scopes=scopes,
                    allowed_models=allowed_models,
                    denied_models=denied_models,
                    allowed_ips=allowed_ips,
                    denied_ips=denied_ips,
                    expires_at=None if expires_at == stored.expires_at else expires_at,
                    allow_any_address=allow_any_address or allowed_ips == stored.allowed_ips,
                ) | {"expires_at": expires_at}
            with gather():
                if "expires_at" not in gather.errors:
                    _refuse_longer_life(stored, expires_at)
            with gather():
                if "scopes" not in gather.errors:
                    held = [*stored.scopes, *scopes]
                    refuse_more_than_held(held, changed_by, stored.workspace)
        before = {name: getattr(stored, name) for name in rules}
        changed = {name: value for name, value in rules.items() if before[name] != value}
        granted = beyond_owner(rules["scopes"], stored.created_by, stored.workspace)
        if not changed and granted == stored.granted_scopes:
            return False
        _write(stored, {**changed, "granted_scopes": granted})
        old, new = as_json(cast(KeyRules, before)), as_json(rules)
        details = {name: [old[name], new[name]] for name in changed}
        if granted != stored.granted_scopes:
            details["granted_scopes"] = [stored.granted_scopes, granted]
        _record(stored, actor=actor, action="key.update", details=details)
    key.refresh_from_db()
    return True


def set_compatibility(
    key: ApiKey,
    *,
    compat_profile: str,
    allows_profile_override: bool = True,
    allows_chat_template: bool = False,
    actor: str,
) -> bool:
    """Set which product's clients a key serves. Returns False when nothing is different.

    compat_profile: of keys.models.CompatProfile, or empty for the workspace's.
    allows_profile_override: a request may choose another by header. allows_chat_template: calls
    may bring a chat template, which the provider runs.
    Raises ValidationError for an unknown profile, and when the key is revoked.
    """
    if compat_profile and compat_profile not in CompatProfile.values:
        known = ", ".join(CompatProfile.values)
        raise ValidationError({"compat_profile": f"The profile must be one of {known}."})
    wanted = {
        "compat_profile": compat_profile,
        "allows_profile_override": allows_profile_override,
        "allows_chat_template": allows_chat_template,
    }
    return _replace(key, wanted, actor=actor, action="key.compatibility")


def set_limits(key: ApiKey, *, limits: Mapping[str, int | None], actor: str) -> bool:
    """Replace all limits of a key. Returns False when nothing is different.

    limits: see keys.limits; None, or not given, is no limit.
    Raises ValidationError with one entry for each limit that cannot be taken, and when the key is
    revoked.
    """
    return _replace(key, read_limits(limits), actor=actor, action="key.limits")


def reset_total(key: ApiKey, *, spent_nusd: int, actor: str) -> bool:
    """Count a key's total from nothing again. False: it has spent nothing since it was.

    spent_nusd: what it has spent ever, by the ledger.
    """
    with transaction.atomic():
        stored = ApiKey.objects.select_related("workspace").get(pk=key.pk)
        before_nusd = spent_nusd - stored.total_baseline_nusd
        changed = ApiKey.objects.filter(pk=key.pk, total_baseline_nusd__lt=spent_nusd).update(
            total_baseline_nusd=spent_nusd
        )
        if changed:
            details = {"spent_nusd": [before_nusd, 0]}
            _record(stored, actor=actor, action="key.reset_total", details=details)
    key.refresh_from_db(fields=["total_baseline_nusd"])
    return changed == 1


def read_max_keys(number: int | None) -> int | None:
    """Return how many keys a developer may have. Raises ValidationError."""
    if number is not None and not 1 <= number <= MAX_KEYS:
        words = f"Enter a whole number of keys from 1 to {MAX_KEYS:,}, or leave empty for no limit."
        raise ValidationError({"max_keys": words})
    return number


def refuse_until(key_id: uuid.UUID, *, until: datetime, lost_nusd: int) -> bool:
    """Refuse the calls of a key for a while: they have cost more than the workspace's balance had.

    lost_nusd: how much more, since the day began. Returns False when that is known already, or
    there is no such key.
    """
    with transaction.atomic():
        key = ApiKey.objects.select_related("workspace").filter(pk=key_id).first()
        if key is None or (key.refused_until is not None and key.refused_until >= until):
            return False
        ApiKey.objects.filter(pk=key_id).update(refused_until=until)
        details = {"until": until.isoformat(), "lost_nusd": lost_nusd}
        _record(key, actor="gateway", action="key.refuse", details=details)
    return True


def set_developer_key_policy(
    workspace: Workspace,
    *,
    max_keys: int | None,
    scopes: Sequence[str] | None,
    allowed_models: Sequence[str],
    allowed_ips: Sequence[str] | None,
    limits: Mapping[str, int | None],
    allows_chat_template: bool,
    actor: str,
) -> bool:
    """Set the most that keys made by developers may do from now on. False: nothing changes.

    Keys that there are stay as they are. max_keys: None is no limit; the rest as issue_key and
    set_limits take it. Raises ValidationError with one entry for each field that cannot be taken.
    """
    wanted: JsonObject = {}
    with raising_all() as gather:
        with gather():
            wanted |= read_all(
                {
                    "max_keys": lambda: read_max_keys(max_keys),
                    "scopes": lambda: None if scopes is None else read_scopes(scopes),
                    "allowed_models": lambda: read_model_names(allowed_models),
                    "allowed_ips": lambda: read_networks(allowed_ips, allow_any_address=False),
                    "allows_chat_template": lambda: allows_chat_template,
                }
            )
        with gather():
            wanted |= read_limits(limits)
    with transaction.atomic():
        stored, _ = DeveloperKeyPolicy.objects.get_or_create(workspace=workspace)
        details = differences(stored, wanted)
        if details:
            DeveloperKeyPolicy.objects.filter(pk=stored.pk).update(**wanted)
            record_audit(
                actor=actor,
                action="workspace.set_developer_key_policy",
                target=workspace.slug,
                workspace=workspace,
                details=details,
            )
    return bool(details)


def revoke_key(key: ApiKey, *, actor: str) -> bool:
    """Stop a key for good. Returns False when it was already revoked.

    The row-level condition makes two simultaneous revocations safe without a lock.
    """
    with transaction.atomic():
        changed = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(
            revoked_at=timezone.now()
        )
        if changed:
            _record(key, actor=actor, action="key.revoke", details={})
    key.refresh_from_db(fields=["revoked_at"])
    return changed == 1


def disown_key(key: ApiKey, *, actor: str) -> bool:
    """Leave a key to its workspace, as a service key. Returns False when it was one.

    Scopes without effect are taken off: they would have one again.
    """
    with transaction.atomic():
        stored = ApiKey.objects.select_related("workspace", "created_by").get(pk=key.pk)
        lost = scopes_without_effect(stored)
        scopes = [scope for scope in stored.scopes if scope not in lost]
        changed = ApiKey.objects.filter(pk=key.pk, created_by__isnull=False).update(
            created_by=None, scopes=scopes, granted_scopes=[]
        )
        if changed:
            details = {"scopes": [stored.scopes, scopes]} if lost else {}
            _record(stored, actor=actor, action="key.disown", details=details)
            if stored.created_by_id is not None:
                # What the key has spent is the member's no more.
                owner = member_owner(stored.created_by_id, stored.workspace_id)
                record_change(ConfigChange.Kind.BUDGET, uuid.UUID(owner.id).hex)
    key.refresh_from_db(fields=["created_by", "scopes", "granted_scopes"])
    return changed == 1


def _replace(key: ApiKey, wanted: Mapping[str, object], *, actor: str, action: str) -> bool:
    """Write what is different. Returns False when nothing is. Raises ValidationError when the key
    is revoked."""
    with transaction.atomic():
        stored = ApiKey.objects.select_related("workspace").get(pk=key.pk)
        details = differences(stored, wanted)
        if not details:
            return False
        _write(stored, wanted)
        _record(stored, actor=actor, action=action, details=details)
    key.refresh_from_db()
    return True


def _write(key: ApiKey, values: Mapping[str, object]) -> None:
    # Conditional: a revocation, also one in between, is for good.
    if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(**values):
        raise ValidationError("A revoked key cannot be changed. Create a new key.")


def check_lifetime(
    workspace: Workspace, expires_at: datetime | None, *, since: datetime | None = None
) -> None:
    """Raise ValidationError for a key that would live longer than the workspace allows. since: when
    it got its secret; None: now."""
    words = lifetime_complaint(max_key_days(workspace), expires_at, since=since)
    if words:
        raise ValidationError({"expires_at": words})


def _refuse_longer_life(key: ApiKey, expires_at: datetime | None) -> None:
    """Check an expiry that is later than the key's. An earlier one is always taken."""
    if key.expires_at is not None and (expires_at is None or expires_at > key.expires_at):
        since = key.rotated_at or key.created_at
        check_lifetime(key.workspace, expires_at, since=since)


def refuse_more_than_held(scopes: Sequence[str], person: User | None, workspace: Workspace) -> None:
    """Raise ValidationError where the person may not give one of the scopes; None: may do all."""
    if person is None:
        return
    beyond = sorted(set(scopes) - grantable_scopes(person, workspace))
    if beyond:
        raise ValidationError({"scopes": f"You cannot assign the scope {beyond[0]!r}."})


def _record(key: ApiKey, *, actor: str, action: str, details: Mapping[str, object]) -> None:
    record_changes(ConfigChange.Kind.KEY, key.digests)
    record_audit(
        actor=actor, action=action, target=str(key.pk), workspace=key.workspace, details=details
    )
