"""A start that cannot be says why in one sentence, and touches nothing."""

from __future__ import annotations

import fcntl
import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.launch.installation import assert_refused_with, up_process
from tests.support.ports import free_port
from tests.support.redis import running_redis
from tests.support.servers import ROOT, run_manage, running_gateway


def test_a_taken_port(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = up_process(home, port=port)

    assert_refused_with(done, f"Port {port} is in use")


def test_a_collector_without_what_sends_to_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").touch()
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }

    done = up_process(home, port=free_port(), env=env)

    assert_refused_with(done, "OpenTelemetry is not installed. Run `.venv/bin/pip install ")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "must look like http://collector"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1", "must look like http://collector"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "must be one of http/protobuf, not 'grpc'"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "often", "must be a whole number, not 'often'"),
    ],
)
def test_a_collector_that_cannot_be_used(home: Path, variable: str, value: str, words: str) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"} | {variable: value}

    done = up_process(home, port=free_port(), env=env)

    assert_refused_with(done, f"{variable} {words}")


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    done = up_process(tmp_path / "file" / "home", port=free_port())

    assert_refused_with(done, "cannot be used: Not a directory")


def test_a_database_that_a_newer_version_has_used(home: Path) -> None:
    with sqlite3.connect(home / "tollhouse.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('gateway', '9999_from_the_future', '2030-01-01')"
        )
    database.close()

    done = up_process(home, port=free_port())

    assert_refused_with(done, "is newer than this version of Tollhouse")


def test_a_file_that_is_no_database(home: Path) -> None:
    (home / "tollhouse.sqlite3").write_bytes(b"these are not the pages you are looking for" * 200)

    done = up_process(home, port=free_port())

    assert_refused_with(done, "cannot be read")


def test_a_home_in_use_without_its_database(home: Path) -> None:
    (home / "tollhouse.sqlite3").unlink()

    done = up_process(home, port=free_port())

    assert_refused_with(done, "is missing or empty, but this home has been used")
    assert "quickstart.json" in done.stderr
    assert "up --new-database" in done.stderr
    assert not (home / "tollhouse.sqlite3").exists()


def test_a_home_with_secrets_alone_without_its_database(home: Path) -> None:
    (home / "tollhouse.sqlite3").unlink()
    (home / "quickstart.json").unlink()

    done = up_process(home, port=free_port())

    assert_refused_with(done, "it has secrets/sealing_key, secrets/secret_key")


def test_a_new_database_that_was_asked_for(home: Path) -> None:
    (home / "tollhouse.sqlite3").unlink()

    done = run_manage(home, "prepare", "--new-database", "--json")

    assert done.returncode == 0, done.stderr
    assert (home / "tollhouse.sqlite3").stat().st_size > 0


def test_a_home_where_another_one_runs(home: Path) -> None:
    lock = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT)
    os.write(lock, b"4711")
    fcntl.flock(lock, fcntl.LOCK_EX)

    done = up_process(home, port=free_port())
    os.close(lock)

    assert_refused_with(done, "is already running (process 4711")


def test_a_setting_that_cannot_be(home: Path) -> None:
    done = up_process(home, port=free_port(), env={"TOLLHOUSE_IDLE_S": "soon"})

    assert_refused_with(done, "TOLLHOUSE_IDLE_S must be a whole number")


def test_debug_pages_for_the_outside_world(home: Path) -> None:
    exposed = {"TOLLHOUSE_DEBUG": "yes", "TOLLHOUSE_HOST": "0.0.0.0"}

    done = up_process(home, port=free_port(), env=exposed)

    assert_refused_with(done, "TOLLHOUSE_DEBUG")


def test_a_redis_url_that_cannot_be_read_is_not_repeated(home: Path) -> None:
    done = up_process(home, port=free_port(), env={"REDIS_URL": "redis://:s3cret@localhost/first"})

    assert_refused_with(done, "REDIS_URL must end with the number of a database")
    assert "s3cret" not in done.stdout + done.stderr


def test_a_redis_that_rejects_the_password(home: Path) -> None:
    with running_redis() as server:
        server.client.config_set("requirepass", "another")
        done = up_process(
            home, port=free_port(), env={"REDIS_URL": f"unix://:s3cret@{server.socket}"}
        )

    assert_refused_with(done, "rejects the user or password of REDIS_URL")
    assert "s3cret" not in done.stdout + done.stderr


PLAIN = "CREATE TABLE notes (id integer, words text);"
OF_DJANGO = """
CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied text);
INSERT INTO django_migrations (app, name, applied)
VALUES ('accounts', '0001_initial', '2030-01-01');
CREATE TABLE accounts_person (id integer);
"""


@pytest.mark.parametrize("tables", [PLAIN, OF_DJANGO], ids=["plain", "of Django"])
def test_a_database_file_of_another_program(tmp_path: Path, tables: str) -> None:
    file = tmp_path / "other.sqlite3"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(tables)
    content = file.read_bytes()
    home, env = tmp_path / "home", {"DATABASE_URL": f"sqlite:///{file}"}

    started = up_process(home, port=free_port(), env=env)
    commands = [
        run_manage(home, *command.split(), env=env)
        for command in (
            "prepare",
            "migrate",
            "prove",
            "create_workspace A",
            f"backup {tmp_path / 'backup'}",
        )
    ]

    assert_refused_with(started, "has tables of another program")
    for done in commands:
        assert done.returncode == 1
        assert "has tables of another program" in done.stderr
        assert "Traceback" not in done.stderr
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.glob("other*")] == ["other.sqlite3"]


def test_a_folder_of_files_that_cannot_be_written_is_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    env = {"TOLLHOUSE_FILES_DIR": str(tmp_path / "file" / "files")}

    with running_gateway(home, env=env) as gateway:
        told = gateway.log.read_text().splitlines()

    [line] = [line for line in told if "TOLLHOUSE_FILES_DIR" in line]
    assert f"the folder {env['TOLLHOUSE_FILES_DIR']} " in line
    assert "cannot be written: Not a directory. Files cannot be uploaded until it can." in line
