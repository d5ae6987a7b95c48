"""`manage.py migrate`: Django's own, with each migration and its record in one transaction."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate as django_migrate
from django.db import transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState

from accounts.management.newer_database import check_is_not_newer
from gateway.launch.failure import CannotStart
from gateway.launch.preflight import check_is_not_of_others


class OneTransactionExecutor(MigrationExecutor):
    """Django records a migration that has indexes to make after its transaction: a process that is
    killed in between leaves tables behind that the next start tries to make again."""

    def apply_migration(
        self,
        state: ProjectState,
        migration: Migration,
        fake: bool = False,
        fake_initial: bool = False,
    ) -> ProjectState:
        if not migration.atomic:
            return super().apply_migration(state, migration, fake, fake_initial)
        # SQLite takes this only outside of a transaction.
        self.connection.disable_constraint_checking()
        try:
            with transaction.atomic(using=self.connection.alias):
                return super().apply_migration(state, migration, fake, fake_initial)
        finally:
            self.connection.enable_constraint_checking()


# The command names the class in its module, and has no other place to say it.
django_migrate.MigrationExecutor = OneTransactionExecutor  # type: ignore[attr-defined]


class Command(django_migrate.Command):
    """Django's command with our executor, for a database of ours."""

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        try:
            check_is_not_of_others()
            check_is_not_newer()
        except CannotStart as error:
            raise CommandError(str(error)) from None
        return super().execute(*arguments, **options)
