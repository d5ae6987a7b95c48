"""up: the whole installation with one command."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from contextlib import suppress

from django.core.management.base import BaseCommand

from gateway.launch.failure import CannotStart
from gateway.launch.up import run

NEW_DATABASE = "Start with an empty database, even if the previous one of this home is missing."


class Command(BaseCommand):
    help = "Migrate, seed and start everything; Ctrl-C stops it."
    requires_system_checks = ()  # run() makes them, and says less

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--model", choices=["local"], help="Also serve a real small model on this machine."
        )

        parser.add_argument("--new-database", action="store_true", help=NEW_DATABASE)

    def handle(self, *, model: str | None, new_database: bool, **options: object) -> None:
        try:
            run(with_local_model=model == "local", new_database=new_database, say=self._say)
        except CannotStart as error:
            sys.exit(str(error))

    def _say(self, line: str) -> None:
        # What runs goes on, also when the terminal is gone or the disk of its log is full.
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()
