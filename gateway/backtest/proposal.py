"""Puts a set of limit rules together: the installation's own, those of a file, and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.db.models import Q

from accounts.models import Workspace
from accounts.untyped import Arguments
from gateway.backtest.rule_file import DEFAULTS, MAX_RULES
from keys.limit_rules import RuleHolder, holder_of, unsaved_rule, values_of
from keys.models import LimitRule


class Proposal:
    """Rules by their ids, in the order in which they came."""

    def __init__(self) -> None:
        self._rules: dict[UUID, LimitRule] = {}

    def __iter__(self) -> Iterator[LimitRule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def add_current(self, workspace: Workspace | None) -> None:
        """Add the enabled rules that are set. workspace: only those that its calls are under.
        Raises ValueError where there are too many."""
        rules = LimitRule.objects.filter(is_enabled=True).order_by("id")
        if workspace is not None:
            rules = rules.filter(Q(workspace=None) | Q(workspace=workspace))
        found = rules.select_related("workspace", "membership__user", "key")[: MAX_RULES + 1]
        self.add(found)
        if len(self) > MAX_RULES:
            raise ValueError(
                f"More than {MAX_RULES:,} limits are set. Choose a workspace with --workspace."
            )

    def add(self, rules: Iterable[LimitRule]) -> None:
        """Add rules, instead of those with their ids."""
        for rule in rules:
            self._rules[rule.pk] = rule

    def add_new(self, holder: RuleHolder, values: Arguments) -> None:
        """values: those that differ from what a new rule has. Raises ValidationError."""
        self.add([unsaved_rule(holder, {**DEFAULTS, **values})])

    def get(self, text: str) -> LimitRule:
        """Return the rule with this id. Raises LookupError."""
        try:
            return self._rules[UUID(text.strip())]
        except (ValueError, KeyError):
            raise LookupError(f"The limit {text[:60]!r} is not in the proposed set.") from None

    def remove(self, text: str) -> None:
        """Remove the rule with this id. Raises LookupError."""
        del self._rules[self.get(text).pk]

    def change(self, rule: LimitRule, values: Arguments) -> None:
        """values: those that are different. Raises ValidationError."""
        changed = unsaved_rule(holder_of(rule), {**values_of(rule), **values})
        changed.pk = rule.pk
        self.add([changed])
