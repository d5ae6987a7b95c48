"""`move_to_postgres` carries an installation over to the last row, or changes nothing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.postgresql import PostgresqlServer
from tests.support.servers import GatewayServer, manage_json, run_manage, running_gateway
from tests.support.storage import database_of, use_postgresql

pytestmark = pytest.mark.slow

TABLES = ("accounts_ledgerentry", "gateway_callrecord", "keys_apikey", "accounts_auditevent")


def move(
    home: Path, postgresql: PostgresqlServer, database: str
) -> subprocess.CompletedProcess[str]:
    env = {"DATABASE_URL": postgresql.url(database)}
    return run_manage(home, "move_to_postgres", "--json", env=env)


def rows_of_file(file: Path, statement: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return [tuple(map(str, row)) for row in database.execute(statement)]


def test_everything_is_carried_over_and_proved_twice(
    home: Path, postgresql: PostgresqlServer
) -> None:
    database = postgresql.new_database()
    with running_gateway(home) as server:
        for _ in range(3):
            server.chat()
        server.chat()
        server.kill()  # what it had not posted is posted by the move
    file = home / "tollhouse.sqlite3"
    with closing(sqlite3.connect(file)) as source, source:
        source.execute("UPDATE accounts_workspace SET name = ?", ["De\x00mo"])
        source.execute("UPDATE accounts_auditevent SET details = ?", [r'{"a": "\u0000"}'])

    done = move(home, postgresql, database)

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [proof["holds"] for proof in answer["proofs"]] == [True, True]
    assert answer["proofs"][0] == answer["proofs"][1]
    assert answer["tables"]["gateway_callrecord"] == 4
    assert answer["replaced_nul_characters"] == 1 + answer["tables"]["accounts_auditevent"]
    assert not file.exists()
    moved = Path(answer["sqlite_file"])
    for table in TABLES:
        [(count,)] = rows_of_file(moved, f"SELECT count(*) FROM {table}")
        assert postgresql.run(f"SELECT count(*) FROM {table}", database=database) == count
    sums = (
        "SELECT sum(charge_nusd), sum(prompt_tokens), max(requested_model) FROM gateway_callrecord"
    )
    assert postgresql.run(sums, database=database) == "|".join(rows_of_file(moved, sums)[0])
    goes_on_as_before(home, database)


def goes_on_as_before(home: Path, database: str) -> None:
    """The key still works, new rows get new numbers, and SQLite is not taken up again."""
    forgotten = run_manage(home, "prepare", "--json")
    assert "set DATABASE_URL" in forgotten.stderr
    use_postgresql(home, database)
    with running_gateway(home) as server:
        server.chat()
        manage_json(home, "grant_credits", "De\ufffdmo", "1", "--reason", "test")
    proof = manage_json(home, "prove")
    assert (proof["holds"], proof["calls"]) == (True, 5)


def test_a_running_installation_is_not_moved(
    gateway: GatewayServer, postgresql: PostgresqlServer
) -> None:
    done = move(gateway.home, postgresql, postgresql.new_database())

    assert done.returncode == 1
    assert "is already running" in json.loads(done.stderr)["error"]
    assert gateway.offered()


def test_a_database_that_has_rows_is_not_moved_to(
    home: Path, postgresql_home: Path, postgresql: PostgresqlServer
) -> None:
    done = move(home, postgresql, database_of(postgresql_home))

    assert done.returncode == 1
    assert "is not empty" in json.loads(done.stderr)["error"]
    assert (home / "tollhouse.sqlite3").exists()


def test_a_database_of_another_program_is_not_moved_to(
    home: Path, postgresql: PostgresqlServer
) -> None:
    database = postgresql.new_database()
    postgresql.run("CREATE TABLE orders (id int)", database=database)

    done = move(home, postgresql, database)

    assert "has tables of another program: orders" in json.loads(done.stderr)["error"]
    assert (home / "tollhouse.sqlite3").exists()
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgresql.run(tables, database=database) == "1"


def test_what_cannot_be_copied_leaves_both_as_they_were(
    home: Path, postgresql: PostgresqlServer
) -> None:
    database = postgresql.new_database()
    file = home / "tollhouse.sqlite3"
    with closing(sqlite3.connect(file)) as source, source:
        source.execute("UPDATE accounts_workspace SET name = ?", ["x" * 5_000])

    refused = move(home, postgresql, database)
    with closing(sqlite3.connect(file)) as source, source:
        source.execute("UPDATE accounts_workspace SET name = 'Demo'")
    again = move(home, postgresql, database)

    assert refused.returncode == 1
    assert "xxx" not in refused.stderr
    assert "too long" in json.loads(refused.stderr)["error"]
    assert again.returncode == 0, again.stderr
