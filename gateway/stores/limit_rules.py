"""Limit rules, compiled for admission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from django.db.models import Exists, OuterRef

from gateway.core.name_patterns import compile_names
from gateway.snapshot.types import LimitRule
from keys.models import ApiKey
from keys.models import LimitRule as LimitRuleRow

Rules = tuple[LimitRule, ...]
_IN_WORKSPACES = ("workspace", "member", "key")


def workspace_has_rules() -> Exists:
    """Say of a key, in its query, whether there are rules in its workspace."""
    return Exists(LimitRuleRow.objects.filter(workspace=OuterRef("workspace"), is_enabled=True))


def rules_of_keys(keys: Sequence[ApiKey]) -> Mapping[UUID, Rules]:
    """Return the rules that calls of each key are under: of its workspace, of the member whose key
    it is, and its own. A key without any is not there. One query."""
    if not keys:
        return {}
    rows = LimitRuleRow.objects.filter(
        workspace__in={key.workspace_id for key in keys}, is_enabled=True
    )
    by_workspace: dict[UUID | None, list[LimitRuleRow]] = {}
    for row in rows.select_related("membership").order_by("id"):
        by_workspace.setdefault(row.workspace_id, []).append(row)
    found = {key.pk: rules_of_key(key, by_workspace.get(key.workspace_id, ())) for key in keys}
    return {key_id: rules for key_id, rules in found.items() if rules}


def rules_of_installation() -> tuple[Rules, Mapping[str, Rules]]:
    """Return those of the installation, and those of models by name. One query."""
    return outer_rules(LimitRuleRow.objects.filter(workspace=None, is_enabled=True).order_by("id"))


def outer_rules(rows: Iterable[LimitRuleRow]) -> tuple[Rules, Mapping[str, Rules]]:
    """Return rules of the installation, and those of models by name. rows: of no workspace."""
    everywhere: list[LimitRule] = []
    of_models: dict[str, Rules] = {}
    for row in rows:
        if row.level == LimitRuleRow.Level.MODEL:
            of_models[row.model] = (*of_models.get(row.model, ()), _compile(row, row.model))
        else:
            everywhere.append(_compile(row, ""))
    return tuple(everywhere), MappingProxyType(of_models)


def rules_of_key(key: ApiKey, rows: Iterable[LimitRuleRow]) -> Rules:
    """Return the rules that calls of a key are under. rows: of its workspace."""
    found = [_compile(row, owner) for row in rows if (owner := _owner_for(row, key)) is not None]
    return tuple(sorted(found, key=lambda rule: _IN_WORKSPACES.index(rule.level)))


def _owner_for(row: LimitRuleRow, key: ApiKey) -> str | None:
    """Return for whom calls of the key are counted by the rule; None: they are not."""
    if row.level == LimitRuleRow.Level.WORKSPACE:
        return str(key.workspace_id)
    if row.level == LimitRuleRow.Level.KEY:
        return str(key.pk) if row.key_id in (None, key.pk) else None
    # Service keys are no member's.
    if key.created_by_id is None:
        return None
    if row.membership is not None and row.membership.user_id != key.created_by_id:
        return None
    return str(key.created_by_id)


def _compile(row: LimitRuleRow, owner: str) -> LimitRule:
    is_bucket = row.algorithm == LimitRuleRow.Algorithm.TOKEN_BUCKET
    return LimitRule(
        rule_id=str(row.pk),
        level=row.level,
        owner=owner,
        metric=row.metric,
        maximum=row.maximum,
        period=row.period,
        algorithm=row.algorithm,
        burst=(row.burst or row.maximum) if is_bucket else 0,
        per_request=row.per_request,
        models=compile_names(tuple(row.only_models)) if row.only_models else None,
    )
