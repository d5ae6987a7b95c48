"""set_access_rules: change what all keys of a workspace may be used for, and from where."""

from __future__ import annotations

from argparse import ArgumentParser

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from keys.access import access_rules_of, set_access_rules
from keys.management.access_options import (
    WORKSPACE_FIELDS,
    add_access_options,
    add_lifetime_option,
    read_access_options,
    read_lifetime_option,
)


class Command(JsonCommand):
    help = (
        "Change the access rules of a workspace. Each list given replaces the current one, and "
        "`none` empties it; other rules do not change. Changes apply within a second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        add_access_options(parser, of_workspace=True)
        add_lifetime_option(parser)

    @transaction.atomic
    def answer(
        self,
        *,
        workspace: str,
        allow_any_address: bool,
        max_key_days: str | None,
        **options: object,
    ) -> Answer:
        found = get_workspace(workspace)
        stored = access_rules_of(found)
        rules = {name: getattr(stored, name) for name in WORKSPACE_FIELDS}
        changed = set_access_rules(
            found,
            actor=ACTOR,
            allow_any_address=allow_any_address,
            **{**rules, **read_access_options(options), **read_lifetime_option(max_key_days)},
        )
        stored = access_rules_of(found)
        return {
            "changed": changed,
            "workspace_id": str(found.pk),
            "slug": found.slug,
            **{name: getattr(stored, name) for name in WORKSPACE_FIELDS},
        }

    def describe(self, answer: Answer) -> str:
        return "The access rules of {slug} are {}.".format(
            "changed" if answer["changed"] else "as they were", **answer
        )
