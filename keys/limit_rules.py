"""The only module that writes limit rules. Pages and commands come here.

Every change is in the feed in its transaction, so that server processes count by it within a
second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import differences, record_audit, record_change, record_changes
from accounts.models import ConfigChange, Membership, Workspace
from accounts.untyped import Arguments
from gateway.core.json_types import JsonObject
from keys.limit_values import LimitValues, read_limit
from keys.limit_words import holder_words, limit_words
from keys.models import ApiKey, LimitRule

MAX_RULES = 20
HOLDER_FIELDS = ("level", "workspace", "membership", "key", "model")
GONE = "This limit was removed in the meantime."
FULL = (
    f"Each workspace, member, key or model can have at most {MAX_RULES} limits. Remove one first."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleHolder:
    """What a limit is for. Use the functions below."""

    level: LimitRule.Level
    workspace: Workspace | None = None
    # At the level of members; None: each member's keys.
    membership: Membership | None = None
    # At the level of keys; None: each key.
    key: ApiKey | None = None
    model: str = ""


def for_installation() -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.INSTALLATION)


def for_model(name: str) -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.MODEL, model=name)


def for_workspace(workspace: Workspace) -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.WORKSPACE, workspace=workspace)


def for_member(membership: Membership) -> RuleHolder:
    return RuleHolder(
        level=LimitRule.Level.MEMBER, workspace=membership.workspace, membership=membership
    )


def for_each_member(workspace: Workspace) -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.MEMBER, workspace=workspace)


def for_key(key: ApiKey) -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.KEY, workspace=key.workspace, key=key)


def for_each_key(workspace: Workspace) -> RuleHolder:
    return RuleHolder(level=LimitRule.Level.KEY, workspace=workspace)


def holder_of(rule: LimitRule) -> RuleHolder:
    return RuleHolder(
        level=LimitRule.Level(rule.level),
        workspace=rule.workspace,
        membership=rule.membership,
        key=rule.key,
        model=rule.model,
    )


def values_of(rule: LimitRule) -> LimitValues:
    """Return the values of a rule, as read_limit returns them."""
    return cast(LimitValues, {name: getattr(rule, name) for name in LimitValues.__annotations__})


def unsaved_rule(holder: RuleHolder, wanted: Arguments) -> LimitRule:
    """Return a rule that is not in the database. wanted: as add_limit_rule takes them. Raises
    ValidationError as add_limit_rule does."""
    values = read_limit(is_of_model=holder.level == LimitRule.Level.MODEL, **wanted)
    return LimitRule(**_columns_of(holder), **values)


def add_limit_rule(
    holder: RuleHolder,
    *,
    metric: str,
    maximum: int | None,
    period: str = "",
    algorithm: str = "",
    burst: int | None = None,
    per_request: bool = False,
    only_models: Sequence[str] = (),
    label: str = "",
    is_enabled: bool = True,
    actor: str,
) -> LimitRule:
    """Set a limit besides those that there are.

    maximum, burst: in the metric's unit; cost in nano-USD. period: empty for concurrent requests
    and with per_request. algorithm: empty for the rolling window. burst: of a token bucket; None:
    the maximum. per_request: the maximum is for each request. only_models: names and patterns of
    the models whose calls are counted; empty: all.
    Raises ValidationError with one entry for each field that cannot be taken.
    """
    wanted: Arguments = {
        "metric": metric,
        "maximum": maximum,
        "period": period,
        "algorithm": algorithm,
        "burst": burst,
        "per_request": per_request,
        "only_models": only_models,
        "label": label,
        "is_enabled": is_enabled,
    }
    rule = unsaved_rule(holder, wanted)
    rule.created_by = actor[:254]
    _refuse_revoked(holder.key)
    with transaction.atomic():
        if LimitRule.objects.filter(**_columns_of(holder)).count() >= MAX_RULES:
            raise ValidationError(FULL)
        rule.save(force_insert=True)
        _record(rule, actor=actor, verb="add_limit", details={"limit": limit_words(rule)})
    return rule


def change_limit_rule(
    rule: LimitRule,
    *,
    maximum: int | None,
    burst: int | None,
    only_models: Sequence[str],
    label: str,
    is_enabled: bool,
    actor: str,
) -> bool:
    """Replace what can be changed of a limit. Returns False when nothing is different.

    What it counts, and in which time, stays: remove the limit and add another. Raises
    ValidationError as add_limit_rule does, and when the limit was removed.
    """
    _refuse_revoked(rule.key)
    with transaction.atomic():
        stored = LimitRule.objects.filter(pk=rule.pk).first()
        if stored is None:
            raise ValidationError(GONE)
        wanted = read_limit(
            is_of_model=stored.level == LimitRule.Level.MODEL,
            metric=stored.metric,
            maximum=maximum,
            period=stored.period,
            algorithm=stored.algorithm,
            burst=burst,
            per_request=stored.per_request,
            only_models=only_models,
            label=label,
            is_enabled=is_enabled,
        )
        changed = differences(stored, wanted)
        if not changed:
            return False
        values = {name: after for name, (_, after) in changed.items()}
        if not LimitRule.objects.filter(pk=rule.pk).update(**values):
            raise ValidationError(GONE)
        details: JsonObject = {"limit": limit_words(stored)}
        details |= {_named(stored, name): pair for name, pair in changed.items()}
        _record(rule, actor=actor, verb="change_limit", details=details)
    rule.refresh_from_db()
    return True


def remove_limit_rule(rule: LimitRule, *, actor: str) -> bool:
    """Remove a limit. Returns False when it was removed before."""
    with transaction.atomic():
        removed, _ = LimitRule.objects.filter(pk=rule.pk).delete()
        if removed:
            _record(rule, actor=actor, verb="remove_limit", details={"limit": limit_words(rule)})
    return removed == 1


def _columns_of(holder: RuleHolder) -> Arguments:
    return {name: getattr(holder, name) for name in HOLDER_FIELDS}


def _refuse_revoked(key: ApiKey | None) -> None:
    if key is not None and key.revoked_at is not None:
        raise ValidationError("A revoked key cannot be changed. Create a new key.")


def _named(rule: LimitRule, name: str) -> str:
    """Return the name of a field in the audit log, where money has its unit."""
    is_money = rule.metric == LimitRule.Metric.COST and name in ("maximum", "burst")
    return f"{name}_nusd" if is_money else name


def _record(rule: LimitRule, *, actor: str, verb: str, details: JsonObject) -> None:
    workspace, key, noun, target = rule.workspace, rule.key, "workspace", ""
    if workspace is None:
        record_change(ConfigChange.Kind.CATALOGUE)
        noun, target = rule.level, rule.model or "installation"
    elif key is not None:
        record_changes(ConfigChange.Kind.KEY, key.digests)
        noun, target = "key", str(key.pk)
    else:
        record_change(ConfigChange.Kind.WORKSPACE, workspace.pk.hex)
        target = workspace.slug
        if rule.membership is not None:
            noun, target = "member", rule.membership.user.email
        elif rule.level != LimitRule.Level.WORKSPACE:
            details = {"for": holder_words(rule).lower()} | details
    record_audit(
        actor=actor,
        action=f"{noun}.{verb}",
        target=target,
        workspace=workspace,
        details=details,
    )
