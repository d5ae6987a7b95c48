"""Which database an installation uses: its own SQLite file, or what DATABASE_URL names.

Time-outs are part of the connection: nobody waits for a lock, or for a server that is gone, for
longer than who asked can use the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from urllib.parse import unquote

from gateway.config.env import SettingError

VARIABLE = "DATABASE_URL"
FILE_NAME = "tollhouse.sqlite3"
Database = dict[str, object]

# Commands and the background worker wait for a lock as long as this.
COMMAND_LOCK_S = 20
# What one request of a person or program may wait for in a process that serves.
PAGE_LOCK_S = 2
PAGE_STATEMENT_S = 30
POOL_WAIT_S = 2
# Connections of a server process that are not in the pool: its threads for calls.
CALL_CONNECTIONS = 8
# A process that was stopped in the middle of a transaction does not keep its locks.
IDLE_IN_TRANSACTION_S = 10

_WRONG = (
    f"{VARIABLE} is not a database's URL. Use postgresql://user:password@host:5432/database, with "
    "special characters percent-encoded, or sqlite:////path/to/file."
)
_UNKNOWN = (
    f"{VARIABLE} has an unknown parameter after the ?. Use "
    "postgresql://user:password@host:5432/database?sslmode=verify-full and other parameters of "
    "libpq, with special characters of the password percent-encoded."
)
_PARTS = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
# What psycopg is told, unless the URL says otherwise. A server that vanished without a word is
# noticed by TCP within half a minute.
_DEFAULTS: dict[str, object] = {
    "application_name": "tollhouse",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}


def read_database(url: str, home: Path, *, may_make: bool) -> Database:
    """Return Django's settings of the database.

    may_make: a missing SQLite file is made. Raises SettingError; its message has nothing of the
    URL, which may have a password.
    """
    url = url.strip()
    scheme = url.partition("://")[0].lower()
    if not url:
        return _sqlite(home / FILE_NAME, may_make=may_make)
    if scheme in ("postgresql", "postgres"):
        return _postgresql(url)
    path = unquote(url.removeprefix("sqlite:///"))
    if scheme != "sqlite" or not url.startswith("sqlite:///") or not path:
        raise SettingError(_WRONG)
    return _sqlite(Path(path).resolve(), may_make=may_make)


def database_file(database: Mapping[str, object]) -> Path | None:
    """Return the file of an SQLite database; None of others, which have none of ours."""
    name = str(database["NAME"])
    if "sqlite" not in str(database["ENGINE"]):
        return None
    return Path(unquote(name.removeprefix("file://").partition("?")[0]))


def describe_database(database: Mapping[str, object]) -> str:
    """Return what people call the database, without the password."""
    file = database_file(database)
    if file is not None:
        return str(file)
    place = f"{database['HOST']}:{database['PORT']}".strip(":")
    return f"{database['NAME']} ({place})" if place else str(database["NAME"])


def use_for_serving(database: MutableMapping[str, object], *, connections: int) -> None:
    """Change the settings to those of a process that serves: people who send a form are not kept
    waiting for a lock as long as commands are, and requests share a pool of connections.

    connections: how many the process may have.
    """
    options: dict[str, object] = dict(_options(database))
    if database_file(database) is not None:
        options["timeout"] = PAGE_LOCK_S
    else:
        options = _with_timeouts(
            options, lock_ms=PAGE_LOCK_S * 1000, statement_ms=PAGE_STATEMENT_S * 1000
        )
        if options["application_name"] == _DEFAULTS["application_name"]:
            options["application_name"] = "tollhouse server"
        options["pool"] = {
            "min_size": 1,
            "max_size": connections - CALL_CONNECTIONS,
            "timeout": POOL_WAIT_S,
            # Then a request that needs one begins to connect again.
            "reconnect_timeout": POOL_WAIT_S,
        }
    database["OPTIONS"] = options


def own_connection(
    database: Mapping[str, object], *, lock_ms: int, statement_ms: int
) -> dict[str, object]:
    """Return the settings of a PostgreSQL connection that one thread keeps to itself, and that
    gives up after these times."""
    options = _with_timeouts(_options(database), lock_ms=lock_ms, statement_ms=statement_ms)
    options.pop("pool", None)
    options["connect_timeout"] = 2
    return {**database, "OPTIONS": options, "CONN_MAX_AGE": None}


def _options(database: Mapping[str, object]) -> dict[str, object]:
    options = database["OPTIONS"]
    assert isinstance(options, dict)
    return options


def _with_timeouts(
    options: Mapping[str, object], *, lock_ms: int, statement_ms: int
) -> dict[str, object]:
    idle_ms = IDLE_IN_TRANSACTION_S * 1000
    timeouts = (
        f"-c lock_timeout={lock_ms} -c statement_timeout={statement_ms}"
        f" -c idle_in_transaction_session_timeout={idle_ms}"
    )
    return {**options, "options": f"{options['options']} {timeouts}"}


def _sqlite(file: Path, *, may_make: bool) -> Database:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        # rw: who only uses it makes none. A new and empty file in the place of one that was moved
        # away would share the write-ahead log of those who still write to the old one.
        "NAME": f"{file.as_uri()}?mode={'rwc' if may_make else 'rw'}",
        # One writer at a time, asked for at BEGIN: a later upgrade of a read would fail at once.
        # FULL: an acknowledged commit survives power loss (docs/adr/0009).
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": COMMAND_LOCK_S,
            # A log that grew beside a long reader gives its space back (docs/adr/0038).
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            " PRAGMA journal_size_limit=67108864;",
        },
    }


def _postgresql(url: str) -> Database:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (ProgrammingError, UnicodeError) as error:
        # The message may quote the password, of which "?" can begin parameters.
        unknown = str(error).startswith("invalid URI query parameter")
        raise SettingError(_UNKNOWN if unknown else _WRONG) from None
    parts = {setting: given.pop(name, "") for name, setting in _PARTS.items()}
    if not parts["NAME"]:
        raise SettingError(
            f"{VARIABLE} names no database. Use postgresql://user:password@host:5432/database."
        )
    if not all(port.isdigit() for port in parts["PORT"].split(",") if port):
        raise SettingError(_WRONG)
    own = given.pop("options", "")
    options = f"-c TimeZone=UTC -c lock_timeout={COMMAND_LOCK_S * 1000} {own}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        **parts,
        "OPTIONS": {**_DEFAULTS, **given, "options": options},
        "CONN_HEALTH_CHECKS": True,
        # PgBouncer may hand the next statement to another server connection.
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
