"""Which database the homes of tests use: their own SQLite file, or one of a PostgreSQL server.

A home's note says so, to whoever starts something on it. A copy of a home gets a copy of its
database. With TEST_DATABASE=postgresql in the environment every home is on PostgreSQL, and so is
what runs in the tests' own process (tests.settings).
"""

from __future__ import annotations

import atexit
import json
import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from tests.support.postgresql import PostgresqlServer, running_postgresql

NOTE = "test-database.json"


@cache
def shared_server() -> PostgresqlServer:
    """The PostgreSQL server of this process, ended with it. Skips where there is none."""
    stack = ExitStack()
    server = stack.enter_context(running_postgresql())
    atexit.register(stack.close)
    return server


def is_postgresql_wanted() -> bool:
    return os.environ.get("TEST_DATABASE") == "postgresql"


def use_postgresql(home: Path, database: str = "") -> str:
    """Have the home use a database of the shared server, by default a new one; return its URL."""
    server = shared_server()
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


def database_of(home: Path) -> str:
    """Return the name of the database that a home on PostgreSQL uses."""
    storage_environment(home)
    return str(json.loads((home / NOTE).read_text())["name"])
