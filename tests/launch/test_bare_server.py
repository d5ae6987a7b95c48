"""uvicorn started by hand: it serves a home alone, and says in a sentence why it cannot."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

from gateway.launch.programs import server_command
from tests.support.ports import free_port
from tests.support.servers import (
    ROOT,
    GatewayServer,
    environment,
    running_gateway,
)


def start_by_hand(home: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Start a server that is expected to end by itself, and return what it said."""
    return subprocess.run(
        [*server_command(host="127.0.0.1", port=free_port()), *more],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def assert_said_once(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.stdout == ""
    assert done.stderr.count(words) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_server_of_a_home_is_refused(gateway: GatewayServer) -> None:
    done = start_by_hand(gateway.home)

    assert_said_once(done, f"is already running (process {gateway.process.pid}")
    assert done.returncode != 0
    assert gateway.process.poll() is None


def test_several_workers_are_refused_and_none_stays(home: Path) -> None:
    done = start_by_hand(home, "--workers", "2")

    assert_said_once(done, "Only one process can serve it")
    with running_gateway(home) as server:  # the home is free again
        assert server.process.poll() is None


def test_a_database_that_was_never_set_up_is_said(tmp_path: Path) -> None:
    done = start_by_hand(tmp_path / "home")

    assert_said_once(done, "There is no database")
    assert "run `manage.py prepare`" in done.stderr
    assert done.returncode != 0


def test_a_database_that_waits_for_migrations_is_said(home: Path) -> None:
    with sqlite3.connect(home / "tollhouse.sqlite3") as database:
        newest = "SELECT max(id) FROM django_migrations WHERE app = 'gateway'"
        database.execute(f"DELETE FROM django_migrations WHERE id = ({newest})")
    database.close()

    done = start_by_hand(home)

    assert_said_once(done, "run `manage.py migrate` after a backup")
    assert done.returncode != 0


def test_a_server_that_was_killed_leaves_the_home_free(gateway: GatewayServer) -> None:
    gateway.kill()

    gateway.restart()

    assert gateway.process.poll() is None
