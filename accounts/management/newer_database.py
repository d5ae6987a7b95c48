"""Whether a newer version of Tollhouse has migrated the database. Its tables can be others by now
than what this version reads and writes."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

OUR_APPS = ("accounts", "keys", "gateway", "dashboard")


def find_unknown_migrations(applied: Collection[tuple[str, str]]) -> list[str]:
    """Return the migrations of our apps, as app.name, that this version does not have.

    applied: (app, name) of each in the database.
    """
    # The names of the files are enough: to import them all takes longer than most commands.
    known = {
        (app, module.name)
        for app in OUR_APPS
        for module in pkgutil.iter_modules([str(Path(apps.get_app_config(app).path, "migrations"))])
    }
    return sorted(
        f"{app}.{name}" for app, name in applied if app in OUR_APPS and (app, name) not in known
    )


def say_newer(unknown: Collection[str]) -> str:
    """Return the sentence for people on a database that has had these migrations."""
    return (
        f"The database {settings.DATABASE_TITLE} is newer than this version of Tollhouse, which "
        f"does not know {max(unknown)}: start the version that last used it, or restore a backup."
    )


def check_is_not_newer() -> None:
    """Raises CommandError where a newer version has migrated the database. One that cannot be read
    is left to the command, which has more to say of it."""
    try:
        applied = MigrationRecorder(connection).applied_migrations()
    except DatabaseError:
        return
    if unknown := find_unknown_migrations(applied):
        raise CommandError(say_newer(unknown))
