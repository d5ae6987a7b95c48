"""The database's file is moved away under a running server, comes back, or is another one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.launch.seed import WORKSPACE
from tests.faults.calling import call, get, statuses
from tests.support.rows import FILE
from tests.support.servers import GatewayServer, run_manage
from tests.support.waiting import wait_until


def wait_until_refused(server: GatewayServer, reason: str) -> None:
    """Return once no call is admitted, and the health page says why."""
    wait_until(lambda: call(server).status == 503, what="calls to be refused")
    wait_until(lambda: reason in server.log.read_text(), what="the log to say so")
    refusals = [call(server) for _ in range(5)]
    health = get(server, "/health")
    assert {(refusal.status, refusal.code) for refusal in refusals} == {
        (503, "database_unavailable")
    }
    assert (health.status, health.code) == (503, "database_unavailable")
    assert reason in health.body["error"]["message"]
    state = get(server, "/status")
    said = state.body["problem"] if state.status == 200 else state.body["error"]["message"]
    assert reason in said


def test_nothing_is_admitted_while_the_database_is_away(gateway: GatewayServer, home: Path) -> None:
    unseen = gateway.manage("issue_key", WORKSPACE, "unseen")["secret"]
    file, elsewhere = home / FILE, home / "elsewhere.sqlite3"
    answered = [call(gateway) for _ in range(3)]

    file.rename(elsewhere)
    wait_until_refused(gateway, "The database file is missing.")
    unknown = call(gateway, key=unseen)
    failed = run_manage(home, "prove")
    was_made_anew = file.exists()
    elsewhere.rename(file)

    assert unknown.status == 503
    assert failed.returncode != 0
    assert not was_made_anew
    wait_until(lambda: call(gateway).status == 200, what="calls to be admitted again")
    assert call(gateway, key=unseen).status == 200
    gateway.stop()
    proof = json.loads(run_manage(home, "prove", "--json").stdout)
    assert proof["breaks"] == []
    assert {statuses(home)[answer.call_id] for answer in answered} == {"ok"}


def test_calls_stay_admitted_once_the_database_is_back(gateway: GatewayServer, home: Path) -> None:
    file, elsewhere = home / FILE, home / "elsewhere.sqlite3"
    seen: list[int] = []

    def look_back() -> bool:
        seen.append(call(gateway).status)
        log = gateway.log.read_text()
        return log.count("The database file is back") == log.count("Restore it")

    for _ in range(5):
        file.rename(elsewhere)
        wait_until(lambda: call(gateway).status == 503, what="calls to be refused")
        elsewhere.rename(file)
        wait_until(lambda: call(gateway).status == 200, what="calls to be admitted again")
        wait_until(look_back, what="the log to say so")

    assert set(seen) == {200}


def test_another_database_in_its_place_is_not_written_to(
    gateway: GatewayServer, home: Path
) -> None:
    call(gateway)
    gateway.stop()
    backup = home / "backup.sqlite3"
    with (
        closing(sqlite3.connect(home / FILE)) as database,
        closing(sqlite3.connect(backup)) as to,
    ):
        database.backup(to)
    gateway.restart()
    answered = call(gateway)
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        (home / name).unlink()
    wait_until_refused(gateway, "The database file is missing.")
    shutil.copy(backup, home / FILE)
    before = (home / FILE).read_bytes()

    wait_until_refused(gateway, "The database file was replaced")
    gateway.kill()
    after = (home / FILE).read_bytes()
    gateway.restart()
    again = call(gateway)
    gateway.stop()

    assert before == after
    assert answered.status == again.status == 200
    assert statuses(home)[again.call_id] == "ok"
    assert json.loads(run_manage(home, "prove", "--json").stdout)["breaks"] == []
