"""Checks before anything is started. Each failure is one sentence."""

from __future__ import annotations

import errno
import importlib.util
import socket
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings
from django.core.checks import Error, Tags, run_checks
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from accounts.management.foreign_tables import (
    OUR_APP,
    find_foreign_tables,
    our_tables,
    say_foreign_tables,
)
from accounts.management.newer_database import find_unknown_migrations, say_newer
from gateway.config.database_url import FILE_NAME
from gateway.config.home import note_use, signs_of_use
from gateway.core.postgresql_tls import explain_tls_failure
from gateway.database.lock import PREPARING, locked
from gateway.launch.failure import CannotStart
from gateway.launch.programs import BACKLOG
from gateway.services.sealing_check import OtherSealingKeys, check_sealing_keys

_TABLES_OF_EXTENSIONS = """
SELECT relname FROM pg_class JOIN pg_depend ON pg_depend.objid = pg_class.oid
WHERE pg_depend.classid = 'pg_class'::regclass AND pg_depend.deptype = 'e'
"""


def check_home(home: Path) -> None:
    """Raises CannotStart unless files can be made in the installation's folder."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as probe:
            probe.write(b"x")
    except OSError as error:
        raise CannotStart(
            f"TOLLHOUSE_HOME ({home}) cannot be written: {error.strerror}. "
            "Choose a folder that this account can write to."
        ) from None


def check_port(host: str, port: int) -> None:
    """Raises CannotStart when something else listens there, or we may not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise CannotStart(
                    f"Port {port} is in use. Stop the other program, or choose another port with "
                    f"TOLLHOUSE_PORT={port + 1 if port < 65_535 else port - 1}."
                ) from None
            raise CannotStart(f"{host}:{port} cannot be used: {error.strerror}.") from None


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there, for server processes to share. Raises CannotStart."""
    check_port(host, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotStart(f"{host}:{port} cannot be used: {error.strerror}.") from None
    return listener


def check_workers() -> None:
    """Raises CannotStart when several server processes are wanted that could not keep count of
    limits together."""
    if settings.WORKERS == 1:
        return
    if settings.DATABASE_FILE is not None:
        raise CannotStart(
            f"{settings.WORKERS} server processes need PostgreSQL: set DATABASE_URL, or leave "
            "WORKERS out."
        )
    if settings.COUNTERS == "memory":
        raise CannotStart(
            f"{settings.WORKERS} server processes need Redis to count limits together: set "
            "REDIS_URL, or leave WORKERS out."
        )


def check_telemetry() -> None:
    """Raises CannotStart when calls shall have traces, and what that takes is not installed."""
    if not settings.OTLP_ENDPOINT:
        return
    try:
        found = importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise CannotStart(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed. Run "
            "`.venv/bin/pip install --require-hashes --no-deps -r deploy/otel.lock`, or unset it."
        )


def check_file_storage() -> None:
    """Raises CannotStart when files shall be in S3's storage, and boto3 is not installed."""
    if settings.FILES_S3_BUCKET and importlib.util.find_spec("boto3") is None:
        raise CannotStart(
            "TOLLHOUSE_FILES_S3_BUCKET is set, but boto3 is not installed. Run "
            "`.venv/bin/pip install --require-hashes --no-deps -r deploy/s3.lock`, or unset it."
        )


def make_database(*, is_wanted: bool = False) -> None:
    """Make an empty file for the database where there is none. One on a server is there already.

    Raises CannotStart when the home shows that it had one, unless a new one is wanted; or when it
    cannot be made.
    """
    file: Path | None = settings.DATABASE_FILE
    if file is None:
        check_is_not_of_others()
        if not is_wanted:
            _check_for_left_behind()
        note_use(settings.HOME)
        return
    check_is_not_of_others()
    signs = signs_of_use(settings.HOME)
    if file.exists() and file.stat().st_size == 0:
        # A first start that was cut short has made this file and the secrets, and nothing else.
        signs = [sign for sign in signs if not sign.startswith("secrets/")]
    if not is_wanted and signs and not (file.exists() and file.stat().st_size):
        raise CannotStart(
            f"The database {_name()} is missing or empty, but this home has been used: it has "
            f"{', '.join(signs)}. Restore the database from a backup, name its home with "
            "TOLLHOUSE_HOME, or, if it is on PostgreSQL, set DATABASE_URL. To begin again with an "
            "empty database, without workspaces, keys and balances, run "
            "`manage.py up --new-database`."
        )
    try:
        file.touch(mode=0o600)
    except OSError as error:
        raise CannotStart(f"The database {_name()} cannot be made: {error.strerror}.") from None
    note_use(settings.HOME)


def _check_for_left_behind() -> None:
    """Raises CannotStart when the database is empty and this home's SQLite database is not."""
    file: Path = settings.HOME / FILE_NAME
    if not (file.exists() and file.stat().st_size) or applied_migrations():
        return
    raise CannotStart(
        f"The database {_name()} is empty, and this home has the database {file}. To move it to "
        "PostgreSQL, run `manage.py move_to_postgres`. To begin with an empty database, run "
        "`manage.py up --new-database`."
    )


def check_is_not_of_others() -> None:
    """Raises CannotStart when the database has tables, and none of them are ours: backups and
    restores are of whole databases."""
    if settings.DATABASE_FILE is not None:
        others = find_foreign_tables(settings.DATABASE_FILE)
    elif any(app == OUR_APP for app, _ in applied_migrations()):
        return
    else:
        ours = our_tables()
        with connection.cursor() as cursor:
            cursor.execute(_TABLES_OF_EXTENSIONS)
            ours.update(name for (name,) in cursor.fetchall())
        others = sorted(set(connection.introspection.table_names()) - ours)
    if others:
        raise CannotStart(say_foreign_tables(_name(), others))


def check_settings() -> None:
    """Raises CannotStart with the first setting that must not meet the outside world."""
    for message in run_checks(tags=[Tags.security]):
        if isinstance(message, Error):
            raise CannotStart(f"{message.msg} {message.hint or ''}".strip())


def check_database() -> bool:
    """Return True when the database waits for migrations of this version.

    Raises CannotStart when it cannot be read, or was used by a newer version than this one.
    """
    try:
        executor = MigrationExecutor(connection)
        executor.loader.check_consistent_history(connection)
    except InconsistentMigrationHistory:
        raise CannotStart(
            f"The database {_name()} was not made by this product, or was changed by hand: "
            "restore a backup of it."
        ) from None
    except DatabaseError as error:
        raise _unreadable(error) from None
    if unknown := find_unknown_migrations(executor.loader.applied_migrations):
        raise CannotStart(say_newer(unknown))
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def check_database_is_current() -> None:
    """Raises CannotStart unless a server process may use the database as it is."""
    if settings.DATABASE_FILE is not None and not settings.DATABASE_FILE.exists():
        raise CannotStart(f"There is no database {_name()}: run `manage.py prepare`.")
    check_is_not_of_others()
    if check_database():
        if not applied_migrations():
            raise CannotStart(f"The database {_name()} is empty: run `manage.py prepare`.")
        raise CannotStart(
            f"The database {_name()} is older than this version of Tollhouse: "
            "run `manage.py migrate` after a backup."
        )


@contextmanager
def preparing_alone() -> Iterator[None]:
    """Prepare the database in the block, one host at a time. Raises CannotStart."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(PREPARING))
        except DatabaseError:
            raise CannotStart(
                f"Another host is preparing the database {_name()}. Try again when it has started."
            ) from None
        yield


def check_keys() -> None:
    """Raises CannotStart when the database's secrets are encrypted with a key that is not here."""
    try:
        check_sealing_keys()
    except OtherSealingKeys as error:
        raise CannotStart(str(error)) from None


def applied_migrations() -> Collection[tuple[str, str]]:
    """Return what was applied to the database. Raises CannotStart when it cannot be read."""
    try:
        return MigrationRecorder(connection).applied_migrations()
    except DatabaseError as error:
        raise _unreadable(error) from None


def _unreadable(error: DatabaseError) -> CannotStart:
    """Return what to say of a database that does not answer."""
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    if settings.DATABASE_FILE is not None:
        return CannotStart(f"The database {_name()} cannot be read: {reason}.")
    if explained := explain_tls_failure(str(error), settings.DATABASES["default"]):
        return CannotStart(explained)
    return CannotStart(
        f"The database {_name()} cannot be read: {reason}. Check that the server runs, that the "
        "database exists, and that DATABASE_URL has its address, user and password."
    )


def _name() -> str:
    return settings.DATABASE_TITLE
