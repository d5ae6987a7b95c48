"""The rows of a home's database, whichever it is: read, and kept from being written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from tests.support.storage import database_url

FILE = "tollhouse.sqlite3"
# What calls write. On PostgreSQL there is no lock of the whole database.
WRITTEN = (
    *("accounts_wallet", "accounts_purse", "gateway_callrecord", "gateway_keptanswer"),
    *("gateway_servingprocess", "django_session"),
)


def select(home: Path, query: str, env: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """Return the rows as text; IDs have no dashes. env: the settings of the home's server."""
    url = database_url(home, env)
    if url:
        with psycopg.connect(url) as connection:
            rows = connection.execute(query.encode()).fetchall()
    else:
        with closing(sqlite3.connect(home / FILE, timeout=60)) as database:
            rows = database.execute(query).fetchall()
    return [tuple(_text(value) for value in row) for row in rows]


def count(home: Path, rows: str, env: Mapping[str, str] | None = None) -> int:
    """Count the rows of a table, with a condition if the text has one."""
    return int(select(home, f"SELECT COUNT(*) FROM {rows}", env)[0][0])


@contextmanager
def locked_database(home: Path, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Another program holds the write lock: what ends meanwhile is in the journal alone."""
    url = database_url(home, env)
    if url:
        with psycopg.connect(url) as connection:
            _lock_tables(connection)
            yield
            connection.rollback()
        return
    with closing(
        sqlite3.connect(home / FILE, timeout=60, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def _lock_tables(connection: psycopg.Connection) -> None:
    """Lock what calls write, again where PostgreSQL ends a deadlock with those who write."""
    while True:
        try:
            connection.execute(f"LOCK TABLE {', '.join(WRITTEN)} IN EXCLUSIVE MODE".encode())
        except psycopg.errors.DeadlockDetected:
            connection.rollback()
        else:
            return


def _text(value: object) -> str:
    text = str(value)
    return text.replace("-", "") if len(text) == 36 and text.count("-") == 4 else text
