"""Which database the homes of tests use: their own SQLite file, or one of a PostgreSQL server.

A home's note says so, to whoever starts something on it. A copy of a home gets a copy of its
database. With TEST_DATABASE=postgresql in the environment every home is on PostgreSQL, and so is
what runs in the tests' own process (tests.settings).
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from tests.support.postgresql import PostgresqlServer, running_postgresql

NOTE = "test-database.json"
SQLITE, POSTGRESQL = "sqlite", "postgresql"
STORAGES = (SQLITE, POSTGRESQL)


@cache
def shared_server() -> PostgresqlServer:
    """The PostgreSQL server of this process, ended with it. Skips where there is none."""
    stack = ExitStack()
    server = stack.enter_context(running_postgresql())
    atexit.register(stack.close)
    return server


def is_postgresql_wanted() -> bool:
    return os.environ.get("TEST_DATABASE") == POSTGRESQL


def use_postgresql(
    home: Path, database: str = "", *, server: PostgresqlServer | None = None
) -> str:
    """Have the home use a database of a server, by default a new one of the shared server; return
    its URL. Copies of the home are for databases of the shared server alone."""
    server = server or shared_server()
    name = database or server.new_database()
    home.mkdir(parents=True, exist_ok=True)
    note = {"home": str(home), "name": name, "url": server.url(name)}
    (home / NOTE).write_text(json.dumps(note))
    return note["url"]


def storage_environment(home: Path) -> dict[str, str]:
    """Return what a program that shall use the home has to have in its environment."""
    try:
        known = json.loads((home / NOTE).read_text())
    except OSError:
        return {"DATABASE_URL": use_postgresql(home)} if is_postgresql_wanted() else {}
    if known["home"] == str(home):
        return {"DATABASE_URL": known["url"]}
    return {"DATABASE_URL": use_postgresql(home, shared_server().new_database(like=known["name"]))}


def database_url(home: Path, env: Mapping[str, str] | None = None) -> str:
    """Return the URL of the home's database; empty: its own file. env: what programs are told."""
    if env and "DATABASE_URL" in env:
        return env["DATABASE_URL"]
    return storage_environment(home).get("DATABASE_URL", "")


def database_of(home: Path) -> str:
    """Return the name of the database that a home on PostgreSQL uses."""
    storage_environment(home)
    return str(json.loads((home / NOTE).read_text())["name"])
