"""Questions about limit rules. Reads only."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from accounts.models import Workspace
from gateway.core.name_patterns import compile_names
from keys.models import ApiKey, LimitRule

_ORDER = Case(
    *(When(level=level, then=Value(place)) for place, level in enumerate(LimitRule.Level.values)),
    output_field=IntegerField(),
)


def limit_rules_of(workspace: Workspace | None) -> QuerySet[LimitRule]:
    """Return the rules of a workspace, its members and its keys; None: those of the installation
    and of models. By level, the oldest first."""
    rules = LimitRule.objects.filter(workspace=workspace).order_by(_ORDER, "model", "id")
    return rules.select_related("workspace", "membership__user", "key")


def limit_rules_over(key: ApiKey) -> list[LimitRule]:
    """Return the enabled rules that calls of a key are under, in the order in which they are
    checked; those of models only where the key may use the model."""
    anywhere = Q(workspace=None) | Q(level=LimitRule.Level.WORKSPACE)
    of_keys = Q(level=LimitRule.Level.KEY) & (Q(key=None) | Q(key=key))
    of_members = Q(pk=None)
    if key.created_by_id is not None:
        of_person = Q(membership=None) | Q(membership__user=key.created_by_id)
        of_members = Q(level=LimitRule.Level.MEMBER) & of_person
    rules = LimitRule.objects.filter(
        Q(workspace=None) | Q(workspace=key.workspace_id),
        anywhere | of_members | of_keys,
        is_enabled=True,
    )
    found = rules.order_by(_ORDER, "id").select_related("workspace", "membership__user", "key")
    return [rule for rule in found if not rule.model or _may_use(key, rule.model)]


def get_limit_rule(text: str) -> LimitRule:
    """Return the rule with this ID. Raises LookupError with a sentence for people."""
    rules = LimitRule.objects.select_related("workspace", "membership__user", "key")
    try:
        return rules.get(pk=UUID(text.strip()))
    except (ValueError, LimitRule.DoesNotExist):
        raise LookupError(
            f"The limit {text[:60]!r} does not exist. list_limit_rules shows the IDs."
        ) from None


def _may_use(key: ApiKey, model: str) -> bool:
    if key.denied_models and compile_names(tuple(key.denied_models)).match(model):
        return False
    return not key.allowed_models or compile_names(tuple(key.allowed_models)).match(model)
