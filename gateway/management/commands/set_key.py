"""set_key: change the rules and limits of a key."""

from __future__ import annotations

import time
from argparse import ArgumentParser

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.core.money import format_usd
from gateway.selectors.budget_lines import owner_of, timezone_of
from gateway.selectors.spending import spent_by
from keys import services
from keys.management.access_options import (
    ACCESS_FIELDS,
    add_access_options,
    read_access_options,
)
from keys.management.limit_options import add_limit_options, read_limit_options, write_limits
from keys.rules import KeyRules
from keys.selectors import get_key


class Command(JsonCommand):
    help = (
        "Change the limits and access rules of a key; other settings stay as they are. `none` is "
        "no limit, or no rule. Changes apply within a second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("key", help="Key ID (preferred), last 4 characters, or the secret.")
        add_limit_options(parser)
        add_access_options(parser)
        parser.add_argument(
            "--reset-total",
            action="store_true",
            help="Reset the total budget to 0 spent.",
        )

    @transaction.atomic
    def answer(
        self, *, key: str, reset_total: bool, allow_any_address: bool, **options: object
    ) -> Answer:
        found = get_key(key)
        changed = services.set_limits(found, limits=read_limit_options(found, options), actor=ACTOR)
        if named := read_access_options(options):
            rules = {**{name: getattr(found, name) for name in KeyRules.__annotations__}, **named}
            changed |= services.update_key(
                found, actor=ACTOR, allow_any_address=allow_any_address, **rules
            )
        spent = spent_by(owner_of(found), time.time(), timezone=timezone_of(found))
        if reset_total:
            changed |= services.reset_total(found, spent_nusd=spent.total_nusd, actor=ACTOR)
        since_reset_nusd = spent.total_nusd - found.total_baseline_nusd
        return {
            "changed": changed,
            "key_id": str(found.pk),
            "label": found.label,
            **{name: getattr(found, name) for name in ACCESS_FIELDS},
            **write_limits(found),
            "spent_today_usd": format_usd(spent.day_nusd),
            "spent_this_week_usd": format_usd(spent.week_nusd),
            "spent_this_month_usd": format_usd(spent.month_nusd),
            "spent_of_total_usd": format_usd(since_reset_nusd),
        }

    def describe(self, answer: Answer) -> str:
        return "Key {label} ({key_id}) is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )
