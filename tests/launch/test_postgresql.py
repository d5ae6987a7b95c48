"""`up` and a bare server on PostgreSQL: the same installation, and starts that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.installation import assert_refused_with, running, up_process
from tests.support.ports import free_port
from tests.support.postgresql import PostgresqlServer
from tests.support.servers import run_manage, start_gateway
from tests.support.storage import database_of, use_postgresql

pytestmark = pytest.mark.slow


def test_up_on_postgresql_is_the_same_installation_each_time(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    use_postgresql(home)

    with running(home) as first:
        before = first.quickstart
        call = first.ask()
    with running(home, port=first.port) as second:
        assert second.quickstart == before
        assert second.ask()["choices"]
    proved = run_manage(home, "prove", "--json")

    assert call["choices"]
    assert before["password"] in first.said
    assert "Traceback" not in first.said + second.said
    assert proved.returncode == 0, proved.stdout + proved.stderr
    assert '"calls": 2' in proved.stdout
    assert not (home / "tollhouse.sqlite3").exists()


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    url = "postgresql://gate:secret@127.0.0.1:1/gate"

    done = up_process(tmp_path / "home", port=free_port(), env={"DATABASE_URL": url})

    assert_refused_with(done, "The database gate (127.0.0.1:1) cannot be read")
    assert "Check that the server runs" in done.stderr
    assert "secret" not in done.stderr


def test_a_database_that_is_not_there(postgresql: PostgresqlServer, tmp_path: Path) -> None:
    env = {"DATABASE_URL": postgresql.url("nowhere")}

    done = up_process(tmp_path / "home", port=free_port(), env=env)

    assert_refused_with(done, 'database "nowhere" does not exist')


def test_a_url_that_is_none(tmp_path: Path) -> None:
    env = {"DATABASE_URL": "mysql://gate:secret@localhost/gate"}

    done = up_process(tmp_path / "home", port=free_port(), env=env)

    assert_refused_with(done, "DATABASE_URL is not a database's URL")
    assert "secret" not in done.stderr


def test_an_empty_database_for_a_home_that_has_one_in_a_file(
    postgresql: PostgresqlServer, home: Path
) -> None:
    env = {"DATABASE_URL": postgresql.url(postgresql.new_database())}

    done = up_process(home, port=free_port(), env=env)

    assert_refused_with(done, "move_to_postgres")


def test_a_half_migrated_database_is_not_served(postgresql_home: Path) -> None:
    moved = run_manage(postgresql_home, "migrate", "gateway", "0023")
    assert moved.returncode == 0, moved.stderr

    with pytest.raises(AssertionError, match="is older than this version of Tollhouse"):
        start_gateway(postgresql_home)


def test_a_newer_database_is_not_used(postgresql: PostgresqlServer, postgresql_home: Path) -> None:
    postgresql.run(
        "INSERT INTO django_migrations (app, name, applied)"
        " VALUES ('gateway', '9999_from_the_future', now())",
        database=database_of(postgresql_home),
    )

    done = up_process(postgresql_home, port=free_port())

    assert_refused_with(done, "is newer than this version of Tollhouse")


@pytest.mark.parametrize("command", ["prove", "list_limit_rules"])
def test_commands_say_that_a_database_is_empty(
    postgresql: PostgresqlServer, tmp_path: Path, command: str
) -> None:
    env = {"DATABASE_URL": postgresql.url(name := postgresql.new_database())}

    done = run_manage(tmp_path / "home", command, env=env)

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"The database {name} ({postgresql.folder}) is empty" in done.stderr
    assert "manage.py prepare" in done.stderr


def test_a_database_of_another_program_is_not_used(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    database = postgresql.new_database()
    tables = "CREATE TABLE orders (id int); CREATE TABLE customers (id int)"
    postgresql.run(tables, database=database)

    done = run_manage(tmp_path / "home", "prepare", env={"DATABASE_URL": postgresql.url(database)})

    assert done.returncode == 1
    assert "has tables of another program: customers, orders. Create an empty" in done.stderr
    names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    assert postgresql.run(names, database=database).split() == ["customers", "orders"]


def test_a_database_with_a_table_of_an_extension_is_empty(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    """As PostGIS brings one. A script of a test's own cannot be an extension everywhere."""
    database = postgresql.new_database()
    extension = (
        "CREATE TABLE spatial_ref_sys (id int); INSERT INTO pg_depend SELECT 'pg_class'::regclass, "
        "'spatial_ref_sys'::regclass, 0, 'pg_extension'::regclass, oid, 0, 'e' FROM pg_extension"
    )
    postgresql.run(extension, database=database)

    done = run_manage(tmp_path / "home", "prepare", env={"DATABASE_URL": postgresql.url(database)})

    assert done.returncode == 0, done.stderr
