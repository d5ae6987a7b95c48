"""A set of limit rules, compiled for the calls that come under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord
from gateway.stores.limit_rules import Rules, outer_rules, rules_of_key
from keys.models import ApiKey, LimitRule

MAX_KEPT = 100_000
KEYS_PER_QUERY = 500
# A record outlives its key: whose key it was is not known then, and rules of members do not count.
KeyName = tuple[UUID, UUID]


class RuleSet:
    """rules: rows, in the database or not. Disabled ones do not count."""

    def __init__(self, rules: Iterable[LimitRule]) -> None:
        enabled = [rule for rule in rules if rule.is_enabled]
        everywhere, of_models = outer_rules(rule for rule in enabled if rule.workspace_id is None)
        self._everywhere = everywhere
        self._of_models = {name: everywhere + own for name, own in of_models.items()}
        self._by_workspace: dict[UUID, list[LimitRule]] = {}
        for rule in enabled:
            if rule.workspace_id is not None:
                self._by_workspace.setdefault(rule.workspace_id, []).append(rule)
        self._keys: dict[KeyName, KeyRecord] = {}

    @property
    def workspaces(self) -> frozenset[UUID]:
        """Those that have rules of their own."""
        return frozenset(self._by_workspace)

    @property
    def is_for_all(self) -> bool:
        """True when there are rules that calls of every workspace come under."""
        return bool(self._everywhere or self._of_models)

    def of_model(self, model: str) -> Rules:
        """Return the rules of the installation, and of the model."""
        return self._of_models.get(model, self._everywhere)

    def load_keys(self, names: Sequence[KeyName]) -> dict[KeyName, KeyRecord]:
        """Return the keys with the rules that their calls are under. names: key and workspace."""
        if len(self._keys) > MAX_KEPT:
            self._keys.clear()
        wanted = {name for name in names if name not in self._keys}
        ruled = [key_id for key_id, workspace_id in wanted if workspace_id in self._by_workspace]
        owners: dict[UUID, int | None] = {}
        for start in range(0, len(ruled), KEYS_PER_QUERY):
            some = ApiKey.objects.filter(pk__in=ruled[start : start + KEYS_PER_QUERY])
            owners.update(some.values_list("pk", "created_by_id"))
        for key_id, workspace_id in wanted:
            key = ApiKey(pk=key_id, workspace_id=workspace_id, created_by_id=owners.get(key_id))
            rules = rules_of_key(key, self._by_workspace.get(workspace_id, ()))
            self._keys[key_id, workspace_id] = _record_of(key, rules)
        return {name: self._keys[name] for name in names}


def _record_of(key: ApiKey, rules: Rules) -> KeyRecord:
    none = CallLimits()
    return KeyRecord(
        key_id=str(key.pk),
        digest="",
        workspace_id=str(key.workspace_id),
        scopes=frozenset(),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
        limits=KeyLimits(none, none, None, rules) if rules else None,
    )
