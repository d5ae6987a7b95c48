"""prepare: migrate and seed an installation without starting it."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict

from django.core.management.base import CommandError

from accounts.management.json_command import Answer, JsonCommand
from gateway.launch.failure import CannotStart
from gateway.launch.prepare import prepare
from gateway.management.commands.up import NEW_DATABASE


class Command(JsonCommand):
    help = "Migrate and seed this installation, as `up` does before it starts anything."
    requires_system_checks = ()  # run() makes them, and says less
    needs_known_database = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--new-database", action="store_true", help=NEW_DATABASE)

    def answer(self, *, new_database: bool, **options: object) -> Answer:
        try:
            return asdict(prepare(say=self.stderr.write, new_database=new_database))
        except CannotStart as error:
            raise CommandError(str(error)) from None

    def describe(self, answer: Answer) -> str:
        return f"Prepared. quickstart.json has a key for {answer['model']}."
