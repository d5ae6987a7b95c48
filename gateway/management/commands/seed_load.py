"""seed_load: data for load tests."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.management.json_command import Answer, JsonCommand
from gateway.core.time_spans import HOUR_S, round_down
from gateway.services.load_seed.access import LoadAccess, write_access
from gateway.services.load_seed.plan import MODELS, LoadPlan
from gateway.services.load_seed.run import check_database, seed_load

LEAST = {"workspaces": 1, "keys": 1, "calls": 0, "days": 1, "bodies": 0, "seed": 0}
MOST = {"days": 3_650, "bodies": 100}


class Command(JsonCommand):
    help = (
        "Fill an empty database for load tests: workspaces, keys and calls, with the ledger and the"
        " totals that belong to them. Not for an installation in use."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspaces", type=int, default=10, help="Default: %(default)s.")
        parser.add_argument("--keys", type=int, default=100, help="Default: %(default)s.")
        parser.add_argument(
            "--calls",
            type=int,
            default=100_000,
            help="Half of them belong to one workspace. Default: %(default)s.",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=60,
            help="Spread calls over this many days until now. Default: %(default)s.",
        )
        parser.add_argument(
            "--bodies",
            type=int,
            default=0,
            metavar="PERCENT",
            help="Share of calls with a stored request and response. Default: %(default)s.",
        )
        parser.add_argument(
            "--seed", type=int, default=1, help="Random seed. Default: %(default)s."
        )
        parser.add_argument(
            "--despite-calls", action="store_true", help="Seed a database that already has calls."
        )

    def answer(self, *, despite_calls: bool, **options: object) -> Answer:
        plan = _plan(options)
        check_database(despite_calls=despite_calls)
        seeded = seed_load(plan, progress=self._show)
        made = seeded.installation
        access = LoadAccess(
            email=made.email,
            password=made.password,
            slug=made.slug,
            model=MODELS[0].name,
            days=plan.days,
            entries=seeded.first_entries,
            busy_key=str(made.keys[0][0]),
            rare_key=str(made.keys[0][-1]),
            secrets=made.secrets,
        )
        return {
            "workspaces": plan.workspaces,
            "keys": plan.keys,
            "calls": seeded.calls,
            "ledger_entries": seeded.entries,
            "seconds": round(seeded.seconds),
            "access": str(write_access(Path(settings.HOME), access)),
        }

    def describe(self, answer: Answer) -> str:
        return (
            "{workspaces:,} workspaces, {keys:,} keys, {calls:,} calls and {ledger_entries:,}"
            " ledger entries in {seconds:,} s. {access} has the password and some keys.".format(
                **answer
            )
        )

    def _show(self, words: str) -> None:
        self.stderr.write(words)


def _plan(options: dict[str, object]) -> LoadPlan:
    numbers = {name: int(str(options[name])) for name in LEAST}
    for name, number in numbers.items():
        if not LEAST[name] <= number <= MOST.get(name, number):
            most = f" to {MOST[name]}" if name in MOST else " or more"
            raise CommandError(f"--{name} must be {LEAST[name]}{most}.")
    ends_at = round_down(timezone.now(), HOUR_S)
    return LoadPlan(**numbers, ends_at=ends_at)
