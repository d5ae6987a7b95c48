"""DATABASE_URL names the database, and what is wrong with it is said without quoting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config.database_url import (
    database_file,
    describe_database,
    own_connection,
    read_database,
    use_for_serving,
)
from gateway.config.env import SettingError

HOME = Path("/srv/tollhouse")
SERVER = "postgresql://gate:pa%40ss@db.example.com:5433/gateway"


def test_without_a_url_the_database_is_a_file_of_the_home() -> None:
    database = read_database("", HOME, may_make=False)

    assert database_file(database) == HOME / "tollhouse.sqlite3"
    assert describe_database(database) == "/srv/tollhouse/tollhouse.sqlite3"


def test_a_file_may_be_elsewhere() -> None:
    database = read_database("sqlite:////data/my%20gate.sqlite3", HOME, may_make=False)

    assert database_file(database) == Path("/data/my gate.sqlite3")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_server_is_described_without_its_password(scheme: str) -> None:
    url = SERVER.replace("postgresql", scheme)

    database = read_database(f" {url}?sslmode=require ", HOME, may_make=False)

    assert (database["USER"], database["PASSWORD"]) == ("gate", "pa@ss")
    assert describe_database(database) == "gateway (db.example.com:5433)"
    assert database_file(database) is None
    options = database["OPTIONS"]
    assert isinstance(options, dict)
    assert (options["sslmode"], options["application_name"]) == ("require", "tollhouse")


def test_several_servers_and_ones_own_options_are_handed_on() -> None:
    url = (
        "postgresql://a@one:1,two:2/gate?target_session_attrs=read-write&options=-c%20work_mem%3D1"
    )

    database = read_database(url, HOME, may_make=False)

    options = database["OPTIONS"]
    assert isinstance(options, dict)
    assert (database["HOST"], database["PORT"]) == ("one,two", "1,2")
    assert options["target_session_attrs"] == "read-write"
    assert options["options"].endswith("-c work_mem=1")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://gate:secret@localhost/gate",
        "gate.sqlite3",
        "sqlite://gate.sqlite3",
        "sqlite:///",
        "postgresql://gate:sec%ret@localhost/gate",
        "postgresql://gate:secret@localhost/gate?what=secret",
        "postgresql://gate:secret@localhost:port:secret/gate",
        "postgresql://gate:secret@localhost",
    ],
)
def test_what_is_no_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(SettingError, match="DATABASE_URL") as refused:
        read_database(url, HOME, may_make=False)

    assert "secret" not in str(refused.value)
    assert "sec%ret" not in str(refused.value)
    assert "postgresql://user:password@host:5432/database" in str(refused.value)


def test_a_parameter_that_is_unknown_is_told_from_a_url_that_is_none() -> None:
    with pytest.raises(SettingError, match="has an unknown parameter"):
        read_database(f"{SERVER}?sslrootcrt=/ca.pem", HOME, may_make=False)


def test_requests_of_a_server_share_connections_and_a_call_has_one_of_its_own() -> None:
    database = read_database(SERVER, HOME, may_make=False)
    use_for_serving(database, connections=16)
    shared = database["OPTIONS"]
    own = own_connection(database, lock_ms=250, statement_ms=5_000)["OPTIONS"]

    assert isinstance(shared, dict)
    assert isinstance(own, dict)
    assert shared["pool"]["max_size"] == 8
    assert "lock_timeout=2000 " in shared["options"]
    assert "pool" not in own
    # The last of several counts.
    assert own["options"].rindex("lock_timeout=250") > own["options"].rindex("lock_timeout=2000")
