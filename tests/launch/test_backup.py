"""backup and restore, each one command: a backup of a running server is whole and adds up."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.flows.site import Site, running_site
from tests.support.postgresql import PostgresqlServer
from tests.support.proofs import form
from tests.support.servers import ROOT, environment, manage_json, run_manage, running_gateway
from tests.support.small_disk import mounted
from tests.support.storage import NOTE, use_postgresql

DATABASE = "tollhouse.sqlite3"
STORAGES = ["sqlite", "postgresql"]


@pytest.fixture(params=STORAGES)
def served(request: pytest.FixtureRequest) -> Iterator[Site]:
    name = "home" if request.param == "sqlite" else "postgresql_home"
    with running_site(request.getfixturevalue(name)) as running:
        yield running


@pytest.fixture
def other(served: Site, tmp_path: Path) -> Path:
    """A home where nothing was ever started, with a database of the same kind."""
    other = tmp_path / "other"
    if (served.gateway.home / NOTE).exists():
        use_postgresql(other)
    return other


def back_up(home: Path, target: Path) -> dict[str, Any]:
    return manage_json(home, "backup", str(target))


def refusal(home: Path, *arguments: str) -> str:
    done = run_manage(home, *arguments)
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_a_backup_of_a_running_server_is_whole(served: Site, other: Path, tmp_path: Path) -> None:
    caller = served.caller()
    for _ in range(5):
        assert caller.ask("script:tokens=5", max_tokens=50).status == 200
    running = caller.begin("script:tokens=5&stall_after=2&gate=on", stream=True, max_tokens=50)
    running.wait_for_tokens(1)
    served.running(caller, count=1)

    made = back_up(served.gateway.home, tmp_path / "backup")
    served.upstream.open_gate("on")
    assert running.answer().is_whole
    restored = manage_json(other, "restore", str(tmp_path / "backup"))

    assert made["missing_journals"] == 0
    assert restored["holds"] is True
    assert restored["breaks"] == restored["warnings"] == []
    assert restored["calls"] == 6
    assert restored["aborted_calls"] == 1
    assert restored["replaced"] is None
    assert manage_json(other, "test_provider", "fake")["reachable"] is True
    with running_gateway(other) as gateway:
        moved = replace(caller, port=gateway.port)
        listed = moved.begin(path="/v1/models", method="GET", raw=b"").answer()
    assert "fake-model" in {model["id"] for model in listed.json["data"]}


@pytest.mark.parametrize("served", ["sqlite"], indirect=True)
def test_what_only_the_journal_had_is_restored(served: Site, other: Path, tmp_path: Path) -> None:
    caller = served.caller()
    answers = [caller.ask("script:tokens=5", max_tokens=50) for _ in range(20)]
    served.gateway.kill()

    back_up(served.gateway.home, tmp_path / "backup")
    restored = manage_json(other, "restore", str(tmp_path / "backup"))

    assert {answer.status for answer in answers} == {200}
    assert (restored["holds"], restored["calls"]) == (True, 20)
    assert restored["aborted_calls"] == 0
    served.gateway.restart()


@pytest.mark.proof
@pytest.mark.parametrize("served", form(short=STORAGES[:1], whole=STORAGES), indirect=True)
def test_nothing_is_overwritten_unasked(served: Site, tmp_path: Path) -> None:
    home, backup = served.gateway.home, tmp_path / "backup"
    before = back_up(home, backup)

    assert "already running" in refusal(home, "restore", str(backup), "--replace")
    assert "exists already" in refusal(home, "backup", str(backup))
    served.gateway.stop()
    assert "add --replace" in refusal(home, "restore", str(backup))
    restored = manage_json(home, "restore", str(backup), "--replace")

    assert before["files"] > 2
    assert restored["holds"] is True
    assert restored["created_at"] == before["created_at"]
    aside = Path(restored["replaced"])
    assert (aside / "secrets" / "sealing_key").exists()
    assert (aside / DATABASE).exists() == (home / DATABASE).exists()


def test_a_damaged_or_foreign_backup_changes_nothing(home: Path, tmp_path: Path) -> None:
    backup, empty = tmp_path / "backup", tmp_path / "empty"
    back_up(home, backup)
    manifest = json.loads((backup / "manifest.json").read_text())
    manifest["migrations"].append("gateway.9999_of_tomorrow")
    newer = Path(shutil.copytree(backup, tmp_path / "newer"))
    (newer / "manifest.json").write_text(json.dumps(manifest))
    with (backup / "quickstart.json").open("a") as file:
        file.write(" ")

    assert "is no backup" in refusal(empty, "restore", str(tmp_path / "nowhere"))
    assert "quickstart.json is missing or was changed" in refusal(empty, "restore", str(backup))
    assert "9999_of_tomorrow" in refusal(empty, "restore", str(newer))
    assert not (empty / DATABASE).exists()


def test_people_read_what_was_done(home: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"

    written = run_manage(home, "backup", str(backup))
    restored = run_manage(tmp_path / "other", "restore", str(backup))

    assert "It contains secrets" in written.stdout
    assert "PROVED" in restored.stdout
    assert backup.stat().st_mode & 0o077 == 0


def test_a_restore_that_fails_leaves_the_database_as_it_was(
    postgresql_home: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    back_up(postgresql_home, backup)
    manage_json(postgresql_home, "create_workspace", "Newer", "--credit", "3")
    before = manage_json(postgresql_home, "prove")["entries"]

    arguments = ("restore", str(backup), "--replace")
    done = run_manage(postgresql_home, *arguments, env={"PATH": str(tmp_path)})

    assert done.returncode == 1
    assert "pg_restore is not installed" in done.stderr
    assert manage_json(postgresql_home, "prove")["entries"] == before

    restored = run_manage(postgresql_home, *arguments)

    assert "The database's former tables are in schema replaced_" in restored.stdout
    assert manage_json(postgresql_home, "prove")["entries"] == before - 1


def on_a_full_disk(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command; no file may grow beyond 64 KB, as on a disk that is full."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))

    return subprocess.run(
        [sys.executable, "manage.py", *arguments, "--json"],
        cwd=ROOT,
        env=environment(home),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_restore_by_a_user_without_the_right_to_rename_says_what_to_do(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    """As on PostgreSQL 14, where the schema is the administrator's."""
    home, database, backup = tmp_path / "home", postgresql.new_database(), tmp_path / "backup"
    role = "CREATE ROLE tenant LOGIN; GRANT ALL ON SCHEMA public TO tenant"
    postgresql.run(role, database=database)
    url = postgresql.url(database).replace("postgres@", "tenant@", 1)
    assert run_manage(home, "prepare", env={"DATABASE_URL": url}).returncode == 0
    assert run_manage(home, "backup", str(backup), env={"DATABASE_URL": url}).returncode == 0

    done = run_manage(home, "restore", str(backup), "--replace", env={"DATABASE_URL": url})

    assert "The user tenant cannot rename the schema public" in done.stderr
    assert 'ALTER SCHEMA public OWNER TO "tenant"' in done.stderr
    postgresql.run('ALTER SCHEMA public OWNER TO "tenant"', database=database)
    postgresql.run(f'GRANT CREATE ON DATABASE "{database}" TO "tenant"', database=database)
    done = run_manage(home, "restore", str(backup), "--replace", env={"DATABASE_URL": url})
    assert done.returncode == 0, done.stderr


def test_a_restore_to_a_full_disk_leaves_nothing(home: Path, tmp_path: Path) -> None:
    if (home / NOTE).exists():
        pytest.skip("PostgreSQL has its own disk")
    backup = tmp_path / "backup"
    back_up(home, backup)

    done = on_a_full_disk(home, "restore", str(backup), "--replace")

    assert "File too large" in json.loads(done.stderr)["error"]
    assert not list(home.glob(".*.restoring"))
    assert run_manage(home, "prove").returncode == 0


def test_a_restore_to_a_disk_that_is_too_small_changes_nothing(home: Path, tmp_path: Path) -> None:
    if (home / NOTE).exists():
        pytest.skip("PostgreSQL has its own disk")
    backup = tmp_path / "backup"
    back_up(home, backup)
    with mounted(tmp_path / "small", 1) as disk:
        (disk / "filling").write_bytes(b"x" * 512 * 1024)
        said = refusal(disk / "home", "restore", str(backup))
        left = {path.name for path in (disk / "home").iterdir()}

    assert "The backup needs" in said
    assert f"MB on the disk of {disk / 'home'}, which has" in said
    assert not {DATABASE, "journal", "quickstart.json", ".restoring"} & left


def test_a_full_disk_is_a_sentence(home: Path, tmp_path: Path) -> None:
    done = on_a_full_disk(home, "backup", str(tmp_path / "backup"))

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stderr)["error"].startswith(("File too large", "SQLite: disk I/O"))
