"""Keys, looked up in the database and compiled for admission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from django.conf import settings
from django.db import Error, connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject

from accounts.limits import BUDGET_FIELDS, has_budget
from accounts.models import BudgetHolder, LimitedCalls, Membership, Workspace
from gateway.core.processor_rules import ProcessorRules
from gateway.core.switch_interval import short_switch_interval
from gateway.models import McpServer, UsageRollup
from gateway.selectors.budget_lines import limits_of, owner_of
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, LimitRule, SpendingLimits
from gateway.stores.access_rules import (
    compile_addresses,
    compile_callers,
    compile_hosts,
    compile_models,
)
from gateway.stores.limit_rules import rules_of_keys, workspace_has_rules
from gateway.stores.processor_rules import processor_rules_of_keys, workspace_has_processor_rules
from keys.models import AccessRules, ApiKey, RetiredSecret
from keys.selectors import scopes_in_effect, scopes_of_role

NO_LIMITS = KeyLimits(CallLimits(), CallLimits(), None)
KEYS_PER_QUERY = 500
# Of how many totals the keys are found: one key has some of a quarter of an hour, and of many.
TOTALS_PER_KEY = 10


def load_key_records(digests: Sequence[str]) -> list[KeyRecord | None]:
    """Return the key of each digest, None where there is none. Two queries where all are keys or
    none is, up to four where some are retired secrets; one more where workspaces have limit rules
    and two where they have rules of processors. Call in a thread.

    Which of them exist is asked first: Django builds that query much faster than the one for
    records, and guessed keys come in thousands.

    Raises django.db.Error when the database cannot answer: that says nothing about the keys. The
    thread's connection is closed then, so that the next look-up gets a fresh one.
    """
    try:
        # Building queries takes milliseconds, in which the event loop would wait for its turn.
        with short_switch_interval():
            found = _load_current(digests)
            if missing := [digest for digest in digests if digest not in found]:
                found |= _load_retired(missing)
    except Error:
        connection.close()
        raise
    return [found.get(digest) for digest in digests]


def _load_current(digests: Sequence[str]) -> dict[str, KeyRecord]:
    """Return the records of keys by the secrets that they have now."""
    existing = ApiKey.objects.filter(digest__in=digests).values_list("digest", flat=True)
    if not (known := list(existing)):
        return {}
    keys = _with_rules().filter(digest__in=known)
    return {record.digest: record for record in _compile_all(list(keys))}


def _load_retired(digests: Sequence[str]) -> dict[str, KeyRecord]:
    """Return the records of keys by secrets that they had before. Those that work no
    longer have expired: the key itself lives on, and so do its calls."""
    retired = RetiredSecret.objects.filter(digest__in=digests)
    rows = retired.values_list("digest", "key_id", "ends_at")
    ends = {digest: (key_id, ends_at.timestamp()) for digest, key_id, ends_at in rows}
    if not ends:
        return {}
    of_secrets = _with_rules().filter(pk__in=[key_id for key_id, _ in ends.values()])
    records = {record.key_id: record for record in _compile_all(list(of_secrets))}
    return {
        digest: _until(records[str(pk)], digest, ends_at) for digest, (pk, ends_at) in ends.items()
    }


def _until(record: KeyRecord, digest: str, ends_at: float) -> KeyRecord:
    """Return the record of a key for a secret that works until then."""
    expires_at = ends_at if record.expires_at is None else min(record.expires_at, ends_at)
    return replace(record, digest=digest, expires_at=expires_at)


def load_recent_key_records(most: int) -> list[KeyRecord]:
    """Return the keys that were used last, at most so many, of those with the newest totals.
    Raises django.db.Error."""
    newest = UsageRollup.objects.order_by("-starts_at").values_list("key_id", flat=True)
    recent = list(dict.fromkeys(newest[: most * TOTALS_PER_KEY]))[:most]
    records: list[KeyRecord] = []
    for start in range(0, len(recent), KEYS_PER_QUERY):
        some = recent[start : start + KEYS_PER_QUERY]
        records += _compile_all(list(_with_rules().filter(pk__in=some)))
    return records


def is_workspace_locked(workspace_id: str) -> bool:
    """True when its calls are to be refused. Raises django.db.Error; call in a thread."""
    return Workspace.objects.filter(pk=workspace_id, locked_at__isnull=False).exists()


def _with_rules() -> QuerySet[ApiKey]:
    """Return keys with all that their records take but limit rules, in one query.
    owner_membership: that of created_by. has_rules: there are limit rules in the workspace."""
    member = Membership.objects.filter(workspace=OuterRef("workspace"), user=OuterRef("created_by"))
    row = JSONObject(user_id="user_id", role="role", **{name: name for name in BUDGET_FIELDS})
    keys = ApiKey.objects.select_related("workspace__access_rules", "created_by")
    membership = Subquery(member.values(row=row)[:1])
    return keys.annotate(
        owner_membership=membership,
        has_rules=workspace_has_rules(),
        has_processor_rules=workspace_has_processor_rules(),
        has_default_tools=Exists(
            McpServer.objects.filter(workspace=OuterRef("workspace"), by_default=True)
        ),
    )


def _membership_of(key: ApiKey) -> Membership | None:
    """Return the membership of the key's owner, where there is one; it is not saved again."""
    row: dict[str, object] | None = getattr(key, "owner_membership")  # noqa: B009  # an annotation
    return None if row is None else Membership(workspace=key.workspace, **row)


def _scopes_of(key: ApiKey, member: Membership | None) -> frozenset[str]:
    """Return the scopes in effect: a member's key does no more than the member may."""
    owner = key.created_by
    if owner is None:
        return frozenset(key.scopes)
    role = "" if member is None else member.role
    is_operator = owner.is_operator and owner.is_active
    held = scopes_of_role(role if owner.is_active else "", is_operator=is_operator)
    return scopes_in_effect(key, held)


def _compile_all(keys: Sequence[ApiKey]) -> list[KeyRecord]:
    under = [key for key in keys if getattr(key, "has_rules")]  # noqa: B009  # an annotation
    rules = rules_of_keys(under)
    processors = processor_rules_of_keys(
        [key for key in keys if getattr(key, "has_processor_rules")]  # noqa: B009  # an annotation
    )
    return [_compile(key, rules.get(key.pk, ()), processors.get(key.pk)) for key in keys]


@lru_cache(maxsize=1024)
def _shared(scopes: frozenset[str]) -> frozenset[str]:
    """Return one and the same set for all keys with these scopes: there are many keys."""
    return scopes


def _compile(
    key: ApiKey, rules: tuple[LimitRule, ...], processors: ProcessorRules | None
) -> KeyRecord:
    of_workspace: AccessRules | None = getattr(key.workspace, "access_rules", None)
    member = _membership_of(key)
    scopes = _shared(_scopes_of(key, member))
    return KeyRecord(
        key_id=str(key.pk),
        digest=key.digest,
        workspace_id=str(key.workspace_id),
        scopes=scopes,
        lost_scopes=_shared(frozenset(key.scopes) - scopes),
        models=compile_models(key, of_workspace),
        addresses=compile_addresses(key, of_workspace),
        callers=compile_callers(of_workspace),
        hosts=compile_hosts(of_workspace),
        expires_at=key.expires_at.timestamp() if key.expires_at else None,
        revoked=key.revoked_at is not None,
        workspace_locked=key.workspace.locked_at is not None,
        stores_bodies=key.workspace.stores_bodies,
        profile=key.compat_profile or key.workspace.compat_profile,
        may_override_profile=key.allows_profile_override,
        may_use_chat_template=key.allows_chat_template,
        workspace_name=key.workspace.name,
        limits=_read_limits(key, member, rules),
        member="" if member is None else owner_of(member).id,
        refused_until=key.refused_until.timestamp() if key.refused_until else 0.0,
        processors=processors,
        has_default_tools=getattr(key, "has_default_tools"),  # noqa: B009  # an annotation
    )


def _read_limits(
    key: ApiKey, member: Membership | None, rules: tuple[LimitRule, ...]
) -> KeyLimits | None:
    """Return the limits of the key, its member and its workspace, None when there are none."""
    of_key = _read_call_limits(key)
    if of_key.per_minute is None and settings.KEY_REQUESTS_PER_MINUTE:
        per_minute = settings.KEY_REQUESTS_PER_MINUTE
        of_key = CallLimits(per_minute, settings.KEY_BURST or per_minute, of_key.at_once)
    of_workspace = _read_call_limits(key.workspace)
    limits = KeyLimits(of_key, of_workspace, _read_budgets(key, member), rules)
    return None if limits == NO_LIMITS else limits


def _read_call_limits(holder: LimitedCalls) -> CallLimits:
    per_minute = holder.max_requests_per_minute
    return CallLimits(per_minute, holder.burst or per_minute or 0, holder.max_concurrent)


def _read_budgets(key: ApiKey, member: Membership | None) -> tuple[SpendingLimits, ...] | None:
    """Return those of the workspace, the member and the key that have limits."""
    holders: list[BudgetHolder | None] = [key.workspace, member, key]
    limits = [limits_of(holder) for holder in holders if holder is not None and has_budget(holder)]
    return tuple(limits) or None
