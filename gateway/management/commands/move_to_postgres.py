"""move_to_postgres: from the SQLite file of a home to the database in DATABASE_URL."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.management.json_command import Answer, JsonCommand
from gateway.config.database_url import FILE_NAME, read_database
from gateway.launch import preflight
from gateway.launch.exclusive import SERVER, only_one
from gateway.launch.failure import CannotStart
from gateway.services.moving import (
    CannotMove,
    default_database,
    move,
    set_aside,
    settle_source,
    summarize,
)


class Command(JsonCommand):
    help = (
        "Copy everything from this home's SQLite database to the empty PostgreSQL database in"
        " DATABASE_URL, and verify the ledger in both. All or nothing. Stop the server first."
    )
    requires_system_checks = ()  # of which one needs a database
    needs_known_database = False

    def answer(self, **options: object) -> Answer:
        if settings.DATABASE_FILE is not None:
            raise CommandError("Set DATABASE_URL to the PostgreSQL database to move to.")
        home, file = Path(settings.HOME), Path(settings.HOME) / FILE_NAME
        if not file.exists():
            raise CommandError(f"There is no SQLite database {file}.")
        try:
            with only_one(home), only_one(home, SERVER):
                return self._move(home, file)
        except (CannotStart, CannotMove) as error:
            raise CommandError(str(error)) from None

    def _move(self, home: Path, file: Path) -> Answer:
        with default_database(read_database("", home, may_make=False)):
            if preflight.check_database():
                raise CannotMove(
                    f"The database {file} is older than this version of Tollhouse: run"
                    " `manage.py migrate` without DATABASE_URL after a backup."
                )
            before = settle_source()
        preflight.check_is_not_of_others()
        preflight.check_database()
        with preflight.preparing_alone():
            call_command("migrate", interactive=False, verbosity=0)
            moved = move(file, before)
        return {
            "tables": moved.rows,
            "rows": sum(moved.rows.values()),
            "replaced_nul_characters": moved.nuls,
            "proofs": summarize([moved.before, moved.after]),
            "sqlite_file": str(set_aside(file)),
        }

    def describe(self, answer: Answer) -> str:
        return (
            "{rows} rows moved. The ledger adds up in both databases. The SQLite database is kept"
            " as {sqlite_file}; keep DATABASE_URL set from now on.".format(**answer)
        )
