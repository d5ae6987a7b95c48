"""What all our management commands share: none uses a database that is not of this version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from accounts.management.foreign_tables import check_file_is_ours
from accounts.management.newer_database import check_is_not_newer


class DatabaseCommand(BaseCommand):
    """A command that uses the installation's database."""

    # False of a command that says itself what is wrong with the database, or replaces it.
    needs_known_database = True

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        self.check_database(**options)
        return super().execute(*arguments, **options)

    def check_database(self, **options: Any) -> None:
        """Raises CommandError where the database is of another program or of a newer version."""
        check_file_is_ours()
        if self.needs_known_database:
            check_is_not_newer()
