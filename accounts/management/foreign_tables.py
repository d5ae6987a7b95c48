"""Whether a SQLite file is the database of another program. It is asked before anything opens the
file to use it, which would already change it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db.migrations.recorder import MigrationRecorder

MIGRATIONS = str(MigrationRecorder.Migration._meta.db_table)
# Other programs made with Django have apps of the names of our others.
OUR_APP = "gateway"
NAMES_SHOWN = 3


def our_tables() -> set[str]:
    """Return the tables that this version has, with the one that lists what was applied."""
    ours = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    return ours | {MIGRATIONS}


def say_foreign_tables(database: str, tables: Collection[str]) -> str:
    """Return the sentence for people on a database that has these tables of another program."""
    names = ", ".join(sorted(tables)[:NAMES_SHOWN])
    names += ", …" if len(tables) > NAMES_SHOWN else ""
    return (
        f"The database {database} has tables of another program: {names}. Create an empty "
        "database for Tollhouse, and name it with DATABASE_URL."
    )


def find_foreign_tables(file: Path) -> list[str]:
    """Return the tables of another program in a SQLite file that is none of ours.

    Empty where the file is ours, is empty, or cannot be read, of which others tell. Nothing is
    written, no lock is taken, and what is only in a write-ahead log is not seen.
    """
    try:
        if not file.stat().st_size:
            return []
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            rows = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' "
                "ESCAPE '!'"
            )
            tables = {str(name) for (name,) in rows}
            if MIGRATIONS in tables:
                applied = database.execute(
                    f"SELECT 1 FROM {MIGRATIONS} WHERE app = ? LIMIT 1",  # noqa: S608 (a constant)
                    [OUR_APP],
                )
                if applied.fetchone():
                    return []
    except (OSError, sqlite3.Error):
        return []
    return sorted(tables - our_tables())


def check_file_is_ours() -> None:
    """Raises CommandError where the installation's database is a file of another program."""
    file: Path | None = settings.DATABASE_FILE
    if file is not None and (tables := find_foreign_tables(file)):
        raise CommandError(say_foreign_tables(str(file), tables))
