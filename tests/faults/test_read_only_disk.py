"""The disk turns read-only under a running server, and is well again later."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.launch.programs import STORAGE_FAILED
from tests.faults.calling import call, call_until_drawn, get, statuses
from tests.support.rows import locked_database
from tests.support.servers import ROOT, GatewayServer, run_manage, running_gateway
from tests.support.waiting import wait_until

SEAM = Path(__file__).parent / "read_only"


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """While this file exists, the server cannot sync a file, or make one."""
    return tmp_path / "read-only"


@pytest.fixture
def server(home: Path, flag: Path) -> Iterator[GatewayServer]:
    env = {"PYTHONPATH": f"{SEAM}:{ROOT}", "READ_ONLY_WHILE": str(flag)}
    with running_gateway(home, env=env) as server:
        yield server
        flag.unlink(missing_ok=True)


def call_until_refused(server: GatewayServer) -> list[str]:
    """Make calls until one is refused; return the ids of the answered ones."""
    ids: list[str] = []

    def is_refused() -> bool:
        answer = call(server)
        if answer.status == 200:
            ids.append(answer.call_id)
            return False
        assert (answer.status, answer.code) == (503, "storage_unavailable")
        return True

    wait_until(is_refused, what="calls to be refused")
    return ids


def test_nothing_answered_is_lost_when_the_journal_cannot_be_synced(
    server: GatewayServer, home: Path, flag: Path
) -> None:
    ids = call_until_drawn(server)
    with locked_database(home):  # so that the calls are nowhere else
        flag.touch()
        ids += call_until_refused(server)
        health, state = get(server, "/health"), get(server, "/status").body
        flag.unlink()
    wait_until(lambda: get(server, "/health").status == 200, what="the journal to go on")
    ids += [call(server).call_id for _ in range(5)]
    segments = [path.name for path in (home / "journal").glob("*/*.journal")]
    server.kill()
    server.restart()
    known = statuses(home)
    server.stop()

    assert (health.status, health.code) == (503, "storage_unavailable")
    assert (state["status"], "disk" in state["problem"]) == ("unavailable", True)
    assert max(segments) > "00000000.journal"
    assert {known.get(call_id) for call_id in ids} == {"ok"}
    proof = json.loads(run_manage(home, "prove", "--json").stdout)
    assert (proof["breaks"], proof["journal_faults"]) == ([], [])
    assert server.log.read_text().count("the journal is not durable") == 1


def test_a_server_that_is_stopped_meanwhile_says_so_by_its_exit(
    server: GatewayServer, home: Path, flag: Path
) -> None:
    ids = call_until_drawn(server)
    flag.touch()
    ids += call_until_refused(server)

    code = server.stop()

    assert code == STORAGE_FAILED
    assert code not in (0, -signal.SIGTERM)
    known = statuses(home)
    assert {known.get(call_id) for call_id in ids} == {"ok"}


@pytest.fixture
def failing_disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted ext4 file system of 64 MB, which `remount,abort` turns read-only for good."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or not Path("/dev/loop0").exists():
        pytest.skip("a disk that fails takes root, mkfs.ext4 and a loop device")
    image, folder = tmp_path / "disk.img", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, timeout=60)
    mounting = ["mount", "-o", "loop", str(image), str(folder)]
    if subprocess.run(mounting, capture_output=True, timeout=60, check=False).returncode != 0:
        pytest.skip("a disk that fails takes the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)


def test_a_real_disk_that_fails_loses_no_answered_call(home: Path, failing_disk: Path) -> None:
    (failing_disk / "journal").mkdir()
    (home / "journal").symlink_to(failing_disk / "journal")
    with running_gateway(home) as server:
        ids = call_until_drawn(server)
        abort = ["mount", "-o", "remount,abort", str(failing_disk)]
        subprocess.run(abort, check=True, timeout=60)
        ids += call_until_refused(server)
        health = get(server, "/health")
        code = server.stop()

    assert (health.status, health.code) == (503, "storage_unavailable")
    assert code == STORAGE_FAILED
    known = statuses(home)
    assert {known.get(call_id) for call_id in ids} == {"ok"}
