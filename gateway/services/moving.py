"""Carries an SQLite installation over to PostgreSQL: every row of every table, or nothing.

The default connection is the target, which `migrate` has been run on. Rows are read from the file
as they are stored and handed to COPY, in one transaction: what fails leaves the target empty.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, DataError, connection, connections, transaction
from django.db.models import AutoField, DateTimeField, JSONField, Model
from django.db.utils import load_backend

from gateway.config.database_url import Database
from gateway.database.partitions import TABLES, make_partitions_of
from gateway.models import Lease, SealingKey, ServingProcess
from gateway.services.proving import Proof, prove
from gateway.stores.reaping import Reaper

ROWS = 2_000  # read at a time
# `migrate` and `prepare` fill these by themselves.
MADE_BY_ITSELF: tuple[type[Model], ...] = (ContentType, Permission, SealingKey, Lease)
NUL, REPLACEMENT = "\x00", "\ufffd"
Value = str | int | float | bytes | None
Change = Callable[[Value], Value]


class CannotMove(Exception):
    """Why nothing was moved, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows by table, and the proofs before and after. nuls: texts whose NUL characters, which
    PostgreSQL cannot store, were replaced."""

    rows: dict[str, int]
    nuls: int
    before: Proof
    after: Proof


@contextmanager
def default_database(database: Database) -> Iterator[None]:
    """In the block this thread's default connection is another database's."""
    former = connections[DEFAULT_DB_ALIAS]
    settings = connections.configure_settings({DEFAULT_DB_ALIAS: database})[DEFAULT_DB_ALIAS]
    backend = load_backend(settings["ENGINE"])
    connections[DEFAULT_DB_ALIAS] = backend.DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = former


def settle_source() -> Proof:
    """Post what dead processes left in their journals, and prove the ledger. The default
    connection is the source. Raises CannotMove."""
    reaper = Reaper()
    reaper.run()
    alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE).first()
    if alive is not None:
        raise CannotMove(
            f"Process {alive.pid} on {alive.host} has not ended, or its journal is not here. Stop "
            "it, or start this installation once without DATABASE_URL and stop it."
        )
    proof = prove()
    if not proof.holds:
        raise CannotMove(f"The ledger does not add up ({proof.breaks[0]}): run `manage.py prove`.")
    return proof


def move(file: Path, before: Proof) -> Moved:
    """Copy the file's rows to the empty target. Raises CannotMove, DatabaseError."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as source:
        with transaction.atomic():
            check_is_empty()
            for model in reversed(MADE_BY_ITSELF):
                model._default_manager.all().delete()
            _make_partitions(source)
            mover = _Mover(source)
            for model in all_models():
                mover.copy(model)
            after = prove()
            if not after.holds or (after.calls, after.entries) != (before.calls, before.entries):
                raise CannotMove(f"The copy does not add up, so nothing was kept: {after.breaks}.")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return Moved(mover.rows, mover.nuls, before, after)


def _make_partitions(source: sqlite3.Connection) -> None:
    """Make the partitions since the oldest call, and since the oldest body."""
    for table in TABLES:
        [(oldest,)] = source.execute(f'SELECT min(created_at) FROM "{table.table}"')  # noqa: S608
        since = datetime.fromisoformat(oldest).replace(tzinfo=UTC) if oldest else None
        make_partitions_of(table, since)


def check_is_empty() -> None:
    """Raises CannotMove unless nothing but `migrate` has written to the target."""
    for model in all_models():
        if model not in MADE_BY_ITSELF and model._default_manager.exists():
            raise CannotMove(
                f"The database in DATABASE_URL is not empty: {model._meta.db_table} has rows. "
                "Name an empty one."
            )


def all_models() -> list[type[Model]]:
    return [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]


class _Mover:
    """Copies table after table. rows: how many, by table."""

    def __init__(self, source: sqlite3.Connection) -> None:
        self._source = source
        self._numbers = dict(source.execute("SELECT name, seq FROM sqlite_sequence"))
        self.rows: dict[str, int] = {}
        self.nuls = 0

    def copy(self, model: type[Model]) -> None:
        table, fields = model._meta.db_table, model._meta.local_concrete_fields
        changes = [self._change_for(field) for field in fields]
        names = ", ".join(f'"{field.column}"' for field in fields)
        found = self._source.execute(f'SELECT {names} FROM "{table}"')  # noqa: S608 (our names)
        statement = f'COPY "{table}" ({names}) FROM STDIN'
        self.rows[table] = 0
        try:
            with (
                connection.cursor() as cursor,
                connection.wrap_database_errors,
                cursor.copy(statement) as copying,
            ):
                while rows := found.fetchmany(ROWS):
                    for row in rows:
                        copying.write_row(
                            [change(value) for change, value in zip(changes, row, strict=True)]
                        )
                    self.rows[table] += len(rows)
        except DataError as error:
            reason = str(error).partition("\n")[0]  # what follows quotes the row
            raise CannotMove(f"A row of {table} cannot be moved: {reason}.") from None
        self._go_on_counting(model)

    def _change_for(self, field: object) -> Change:
        if isinstance(field, DateTimeField):
            return _as_moment
        return self._as_json if isinstance(field, JSONField) else self._as_text

    def _as_text(self, value: Value) -> Value:
        if isinstance(value, str) and NUL in value:
            self.nuls += 1
            return value.replace(NUL, REPLACEMENT)
        return value

    def _as_json(self, value: Value) -> Value:
        if not isinstance(value, str) or "\\u0000" not in value:
            return value
        clean = json.dumps(_without_nul(json.loads(value)))
        self.nuls += clean != value
        return clean

    def _go_on_counting(self, model: type[Model]) -> None:
        """Have the next row numbered as it would have been in the source."""
        key = model._meta.pk
        if not isinstance(key, AutoField):
            return
        number = self._numbers.get(model._meta.db_table, 0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, %s), %s, %s)",
                [f'"{model._meta.db_table}"', key.column, max(number, 1), number > 0],
            )


def _as_moment(value: Value) -> Value:
    return f"{value}+00" if isinstance(value, str) else value


def _without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace(NUL, REPLACEMENT)
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {_without_nul(name): _without_nul(item) for name, item in value.items()}
    return value


def set_aside(file: Path) -> Path:
    """Rename the file that nobody is to use any more; return its new name."""
    with closing(sqlite3.connect(file)) as source:
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    moved = file.with_name(f"{file.name}.moved")
    file.rename(moved)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    return moved


def summarize(proofs: Sequence[Proof]) -> list[dict[str, object]]:
    return [
        {"holds": proof.holds, "calls": proof.calls, "entries": proof.entries} for proof in proofs
    ]
