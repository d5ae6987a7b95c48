"""Operations of migrations that change an index while the table is in use.

PostgreSQL builds it without a lock that keeps writers away. SQLite has no such thing, and does not
need it: nobody else writes while a migration runs. The migration must have atomic = False.
"""

from __future__ import annotations

from typing import Protocol, cast

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import Index, Model


class _ConcurrentEditor(Protocol):
    def add_index(self, model: type[Model], index: Index, concurrently: bool) -> None: ...
    def remove_index(self, model: type[Model], index: Index, concurrently: bool) -> None: ...


class AddIndexOnline(migrations.AddIndex):
    """migrations.AddIndex, CONCURRENTLY where there is such a thing. Not for partitioned tables."""

    atomic = False

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        editor = cast(_ConcurrentEditor, schema_editor)
        # One that was stopped half way is there, and of no use.
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{self.index.name}"')
        editor.add_index(model, self.index, concurrently=True)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        model = from_state.apps.get_model(app_label, self.model_name)
        cast(_ConcurrentEditor, schema_editor).remove_index(model, self.index, concurrently=True)
