"""Copies of the database as of one moment, while others write to it, and the way back.

SQLite: its online backup. PostgreSQL: pg_dump and pg_restore, with the moment of a transaction that
stays open meanwhile.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from django.conf import settings
from django.db import ProgrammingError, connection, transaction

from gateway.launch.failure import CannotStart
from gateway.models import ServingProcess

SQLITE_NAME, POSTGRESQL_NAME = "database.sqlite3", "database.dump"
LIBPQ_PASSWORD = "PGPASSWORD"  # noqa: S105 (the variable's name)
_ALIVE = (
    "SELECT id, host, drained_segment FROM gateway_servingprocess WHERE state = 'alive' ORDER BY id"
)
LOCK_S = 20
NO_RIGHT = "42501"  # PostgreSQL's code
KEY_PASSWORD = "sslpassword"  # noqa: S105 (the parameter's name)
# Everybody on the host can see the arguments of a program, so passwords are not among them.
# Programs wait for locks as long as it takes.
NOT_TOLD = {"password", KEY_PASSWORD, "options", "client_encoding"}
SHOWN_CHARS = 400


class Snapshot(ABC):
    """The database at one moment. drained: the first segment of its journal that each server
    process still needs, by host and id."""

    drained: dict[tuple[str, uuid.UUID], int]

    def drained_of(self, host: str) -> dict[uuid.UUID, int]:
        """Return the same of one host, by id."""
        return {pk: segment for (place, pk), segment in self.drained.items() if place == host}

    @abstractmethod
    def write(self, target: Path) -> None:
        """Write the copy. Raises CannotStart."""


class SqliteSnapshot(Snapshot):
    def __init__(self, source: sqlite3.Connection) -> None:
        self._source = source
        source.execute("BEGIN")  # the first read sets the moment
        rows = source.execute(_ALIVE).fetchall()
        self.drained = {(host, uuid.UUID(pk)): segment for pk, host, segment in rows}

    def write(self, target: Path) -> None:
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            self._source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, whatever the source has
        target.chmod(0o600)


class PostgresqlSnapshot(Snapshot):
    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SELECT pg_export_snapshot()")
            self._name = str(cursor.fetchone()[0])
        alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE)
        rows = alive.values_list("host", "id", "drained_segment")
        self.drained = {(host, pk): segment for host, pk, segment in rows}

    def write(self, target: Path) -> None:
        options = ("--format=custom", "--no-owner", "--no-privileges", "--schema=public")
        run_tool("pg_dump", *options, f"--snapshot={self._name}", f"--file={target}")
        target.chmod(0o600)


@contextmanager
def open_snapshot() -> Iterator[Snapshot]:
    """Fix a moment of the database for as long as the block lasts. Nobody waits for it."""
    file = sqlite_file()
    if file is not None:
        uri = f"{file.as_uri()}?mode=rw"
        source = sqlite3.connect(uri, uri=True, timeout=LOCK_S, isolation_level=None)
        with closing(source):
            yield SqliteSnapshot(source)
    else:
        with transaction.atomic():
            yield PostgresqlSnapshot()


def sqlite_file() -> Path | None:
    """Return the database's file; None of one on PostgreSQL."""
    file: Path | None = settings.DATABASE_FILE
    return file


def is_sqlite() -> bool:
    return sqlite_file() is not None


def file_name() -> str:
    """Return the name of the database's copy in a backup."""
    return SQLITE_NAME if is_sqlite() else POSTGRESQL_NAME


def has_contents() -> bool:
    """True when there is a database already: it would be lost."""
    file = sqlite_file()
    if file is not None:
        return file.exists() and file.stat().st_size > 0
    return bool(connection.introspection.table_names())


def load(copy: Path, aside: Path) -> None:
    """Make the copy the database; what was there before goes aside. Raises CannotStart.

    aside: a folder that may be made. A PostgreSQL schema is renamed to the folder's name.
    """
    file = sqlite_file()
    if file is None:
        _load_postgresql(copy, schema_name(aside))
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.restoring")
    try:
        shutil.copyfile(copy, draft)
        draft.chmod(0o600)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
    except OSError:
        draft.unlink(missing_ok=True)  # the disk may be full
        raise
    for suffix in ("", "-wal", "-shm"):
        before = file.with_name(file.name + suffix)
        if before.exists():
            move_aside(before, aside)
    draft.replace(file)


def schema_name(aside: Path) -> str:
    """Return the name of the schema that tables on PostgreSQL go to."""
    return aside.name.replace("-", "_")


def move_aside(path: Path, aside: Path) -> None:
    aside.mkdir(mode=0o700, exist_ok=True)
    shutil.move(path, aside / path.name)


def _load_postgresql(copy: Path, schema_aside: str) -> None:
    had_contents = has_contents()
    quoted = connection.ops.quote_name(schema_aside)
    if had_contents:
        _rename_public(quoted)
    connection.close()
    options = ("--no-owner", "--no-privileges", "--schema=public", "--single-transaction")
    try:
        run_tool("pg_restore", *options, "--exit-on-error", str(copy))
    except CannotStart:
        # Its one transaction has left nothing in the new schema.
        if had_contents:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("DROP SCHEMA IF EXISTS public")
                cursor.execute(f"ALTER SCHEMA {quoted} RENAME TO public")
            connection.close()
        raise


def _rename_public(quoted: str) -> None:
    """Rename the schema public and make an empty one. Raises CannotStart where this needs rights
    that the user of the database does not have, as on a database of PostgreSQL 14 or older."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"ALTER SCHEMA public RENAME TO {quoted}")
            cursor.execute("CREATE SCHEMA public")
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != NO_RIGHT:
            raise
        user, name = connection.settings_dict["USER"], connection.settings_dict["NAME"]
        raise CannotStart(
            f"The user {user} cannot rename the schema public of the database {name}. As an "
            f'administrator of PostgreSQL, run `ALTER SCHEMA public OWNER TO "{user}"` and `GRANT '
            f'CREATE ON DATABASE "{name}" TO "{user}"` in this database. Or restore to an empty '
            "database."
        ) from None


def run_tool(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL's on the database. Raises CannotStart with what it said."""
    path = shutil.which(program)
    if path is None:
        raise CannotStart(f"{program} is not installed. Install PostgreSQL's client programs.")
    database = connection.get_connection_params()
    env = dict(os.environ)
    if database.get("password"):
        env[LIBPQ_PASSWORD] = str(database["password"])
    with _place(database, env) as place:
        command = [path, f"--dbname={place}", "--no-password", *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise CannotStart(f"{program} failed: {done.stderr.strip()[-SHOWN_CHARS:]}")


@contextmanager
def _place(database: Mapping[str, object], env: dict[str, str]) -> Iterator[str]:
    """Give what a program is told of where the database is. The password of our key has no
    variable of libpq's: it is in a file for as long as the block lasts."""
    if not database.get(KEY_PASSWORD):
        yield _address(database)
        return
    with tempfile.NamedTemporaryFile("w", prefix="tollhouse-") as file:  # mode 0600
        file.write(f"[tollhouse]\n{KEY_PASSWORD}={database[KEY_PASSWORD]}\n")
        file.flush()
        env["PGSERVICEFILE"] = file.name
        yield f"{_address(database)} service=tollhouse"


def _address(database: Mapping[str, object]) -> str:
    """Return where the database is, with all that DATABASE_URL says of the connection."""
    from psycopg.conninfo import make_conninfo  # for those who use PostgreSQL
    from psycopg.pq import Conninfo

    known = {option.keyword.decode() for option in Conninfo.get_defaults()} - NOT_TOLD
    return make_conninfo(
        "", **{name: str(value) for name, value in database.items() if name in known and value}
    )
