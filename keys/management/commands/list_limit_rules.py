"""list_limit_rules: show the limits of the installation, a workspace or a key."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import Answer, JsonCommand
from accounts.selectors import get_workspace
from keys.limit_selectors import limit_rules_of, limit_rules_over
from keys.limit_words import counted_words, holder_words, limit_words
from keys.management.limit_rule_options import write_limit_rule
from keys.models import LimitRule
from keys.selectors import get_key


class Command(JsonCommand):
    help = (
        "Show the limits of a workspace, its members and its keys; those that apply to a key; or, "
        "without an option, those of the installation and of models."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--workspace", help="Workspace ID, slug or name.")
        which.add_argument("--key", help="Key ID (preferred), last 4 characters, or the secret.")

    def answer(self, *, workspace: str | None, key: str | None, **options: object) -> Answer:
        if key is not None:
            rules = limit_rules_over(get_key(key))
        else:
            rules = list(limit_rules_of(get_workspace(workspace) if workspace else None))
        self._lines = [_line(rule) for rule in rules]
        return {"limits": [write_limit_rule(rule) for rule in rules]}

    def describe(self, answer: Answer) -> str:
        return "\n".join(self._lines) or "No limits are set."


def _line(rule: LimitRule) -> str:
    counted = f" ({counted_words(rule)})" if rule.algorithm else ""
    models = f", only {', '.join(rule.only_models)}" if rule.only_models else ""
    state = "" if rule.is_enabled else ", disabled"
    return f"{rule.pk}  {holder_words(rule)}: {limit_words(rule)}{counted}{models}{state}"
