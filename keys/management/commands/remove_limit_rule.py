"""remove_limit_rule: remove a limit."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from keys.limit_rules import remove_limit_rule
from keys.limit_selectors import get_limit_rule
from keys.limit_words import holder_words
from keys.management.limit_rule_options import write_limit_rule


class Command(JsonCommand):
    help = "Remove a limit. Takes effect within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("rule", help="ID of the limit, as list_limit_rules shows it.")

    def answer(self, *, rule: str, **options: object) -> Answer:
        found = get_limit_rule(rule)
        written = {"for": holder_words(found)} | write_limit_rule(found)
        return {"changed": remove_limit_rule(found, actor=ACTOR)} | written

    def describe(self, answer: Answer) -> str:
        return "{for}: {limit} is removed.".format(**answer)
