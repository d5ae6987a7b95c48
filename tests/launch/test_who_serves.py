"""Who may serve a database: its rows say so, whatever home or host a process has."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError

import pytest

from gateway.launch.programs import server_command
from tests.launch.installation import assert_refused_with, up_process
from tests.support.ports import free_port
from tests.support.postgresql import PostgresqlServer
from tests.support.proofs import IS_WHOLE
from tests.support.redis import running_redis
from tests.support.servers import (
    ROOT,
    GatewayServer,
    environment,
    manage_json,
    run_manage,
    running_gateway,
    start_gateway,
)
from tests.support.storage import database_of, use_postgresql
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

END_LEASES = "UPDATE gateway_servingprocess SET lease_until = now()"


@pytest.fixture
def other_home(postgresql_home: Path, tmp_path: Path) -> Path:
    """A home of another host on the same database, with the same secrets."""
    other = Path(shutil.copytree(postgresql_home, tmp_path / "other-home"))
    use_postgresql(other, database_of(postgresql_home))
    return other


def start(home: Path) -> subprocess.CompletedProcess[str]:
    """Start a server that is expected to end by itself."""
    return subprocess.run(
        server_command(host="127.0.0.1", port=free_port()),
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def calls_to(server: GatewayServer) -> Iterator[None]:
    """Make calls meanwhile. What posts them is a heartbeat, which others need not wait for then."""
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.2):
            server.chat()

    with ThreadPoolExecutor(1) as thread:
        calling = thread.submit(call)
        yield
        ended.set()
        calling.result()


def test_a_second_home_on_one_database_is_refused_without_redis(
    postgresql_home: Path, other_home: Path
) -> None:
    with running_gateway(postgresql_home) as server:
        with calls_to(server):
            done = start(other_home)

        assert f"Process {server.process.pid} on " in done.stderr
        assert "set REDIS_URL" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode != 0
        assert server.offered()
        server.stop()
    with running_gateway(other_home) as successor:
        assert successor.offered()


def test_with_redis_several_homes_spend_no_more_than_there_is(
    postgresql_home: Path, other_home: Path
) -> None:
    with running_redis() as redis:
        env = {"REDIS_URL": redis.url}
        with (
            running_gateway(postgresql_home, env=env) as one,
            running_gateway(other_home, env=env) as two,
        ):
            workspace = one.manage("create_workspace", "Poor", "--credit", "0.0002")["slug"]
            secret = one.manage("issue_key", workspace, "shared")["secret"]
            callers = [replace(server, key=secret) for server in (one, two) for _ in range(16)]
            with ThreadPoolExecutor(16) as threads:
                statuses = list(threads.map(status_of_a_call, callers))

    proof = manage_json(postgresql_home, "prove")
    assert set(statuses) == {200, 402}
    assert (proof["holds"], proof["calls"]) == (True, len(callers))


def status_of_a_call(server: GatewayServer) -> int:
    try:
        server.chat(max_tokens=50)
    except HTTPError as refusal:
        return refusal.code
    return 200


def test_who_counts_alone_is_refused_beside_those_who_do_not(
    postgresql_home: Path, other_home: Path
) -> None:
    with (
        running_redis() as redis,
        running_gateway(postgresql_home, env={"REDIS_URL": redis.url}) as server,
    ):
        with calls_to(server):
            done = start(other_home)

        assert "set REDIS_URL" in done.stderr
        assert server.offered()


def test_a_home_goes_on_at_once_after_a_kill(postgresql_home: Path) -> None:
    with running_gateway(postgresql_home) as server:
        server.kill()
        server.restart()

        assert server.offered()
        assert "Waiting to see" not in server.log.read_text()


@pytest.mark.proof
def test_a_killed_process_of_another_home_is_waited_for(
    postgresql_home: Path, other_home: Path, postgresql: PostgresqlServer
) -> None:
    """Short: once it waits, the lease that it waits for is over at once, not after 30 s."""
    with running_gateway(postgresql_home) as server:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    log = other_home / "server.log"
    with ThreadPoolExecutor(1) as thread:
        starting = thread.submit(start_gateway, other_home)
        wait_until(lambda: log.exists() and "still serves this database" in log.read_text())
        assert not starting.done()
        if not IS_WHOLE:
            postgresql.run(END_LEASES, database=database_of(postgresql_home))
        successor = starting.result()
    assert successor.offered()
    successor.stop()


def test_another_sealing_key_is_refused_until_the_loss_is_accepted(other_home: Path) -> None:
    (other_home / "secrets" / "sealing_key").write_text("another-" * 8)

    served = start(other_home)
    prepared = up_process(other_home, port=free_port())
    accepted = run_manage(other_home, "reseal_credentials", "--accept-loss")

    assert "with a sealing key that this program does not have" in served.stderr
    assert served.returncode != 0
    assert_refused_with(prepared, "TOLLHOUSE_SEALING_KEYS")
    assert accepted.returncode == 0, accepted.stderr
    assert "Nothing was re-encrypted" in accepted.stdout
    with running_gateway(other_home) as server:
        assert server.offered()


def test_nothing_is_encrypted_with_a_key_that_a_running_server_does_not_have(
    other_home: Path,
) -> None:
    old, new = (other_home / "secrets" / "sealing_key").read_text(), "new-key-" * 8
    both = {"TOLLHOUSE_SEALING_KEYS": f"{new},{old}"}
    with running_gateway(other_home) as server:
        refused = run_manage(other_home, "reseal_credentials", env=both)
        assert server.offered()
    resealed = run_manage(other_home, "reseal_credentials", env=both)

    assert refused.returncode == 1
    assert "was started without the first of TOLLHOUSE_SEALING_KEYS" in refused.stderr
    assert resealed.returncode == 0, resealed.stderr


def test_a_key_that_was_added_in_front_is_asked_of_all_until_it_is_the_only_one(
    other_home: Path,
) -> None:
    old, new = (other_home / "secrets" / "sealing_key").read_text(), "new-key-" * 8
    both = {"TOLLHOUSE_SEALING_KEYS": f"{new},{old}"}
    with running_gateway(other_home, env=both) as server:
        assert server.offered()

    late = start(other_home)  # it would not be able to read what the other encrypts
    resealed = run_manage(other_home, "reseal_credentials", env=both)

    assert late.returncode != 0
    assert resealed.returncode == 0, resealed.stderr
    with running_gateway(other_home, env={"TOLLHOUSE_SEALING_KEYS": new}) as server:
        assert server.offered()
