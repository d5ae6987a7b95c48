"""Several server processes under one `up`: what they need, and that they can be replaced while
calls go on."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launch.installation import (
    Installation,
    assert_refused_with,
    is_alive,
    running,
    up_process,
)
from tests.support.otlp import Collector, running_collector
from tests.support.ports import free_port
from tests.support.redis import running_redis
from tests.support.servers import run_manage
from tests.support.storage import use_postgresql
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

REPLACED = "All server processes have been replaced."
# Longer than httpx keeps an idle connection.
CLIENTS_KEEP_S = 6.0


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def options(collector: Collector) -> Iterator[dict[str, str]]:
    """What `up` is told in its environment."""
    metrics_port = free_port()
    while free_port() != metrics_port + 1:  # the second process has the next one
        metrics_port = free_port()
    with running_redis() as redis:
        yield {
            "REDIS_URL": redis.url,
            "WORKERS": "2",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "TOLLHOUSE_METRICS_PORT": str(metrics_port),
        }


@pytest.fixture(scope="module")
def installation(
    postgresql_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    options: dict[str, str],
) -> Iterator[Installation]:
    home = Path(shutil.copytree(postgresql_template, tmp_path_factory.mktemp("workers") / "home"))
    with running(home, env=options) as installation:
        yield installation


def servers(installation: Installation) -> list[int]:
    """Return the process ids of the running server processes."""
    pid = installation.process.pid
    pids = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return sorted(
        child
        for child in pids
        if is_alive(child) and "launch.server" in Path(f"/proc/{child}/cmdline").read_text()
    )


class Callers:
    """Calls one after another, on a kept connection and on new ones, until stopped."""

    def __init__(self, installation: Installation) -> None:
        self.answered = 0
        self.failed: list[str] = []
        self._installation = installation
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(keeps,)) for keeps in (True, True, False)
        ]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self, keeps: bool) -> None:
        start = self._installation.quickstart
        said = {"model": start["model"], "messages": [{"role": "user", "content": "Hello"}]}
        headers = {
            "Authorization": f"Bearer {start['api_key']}",
            "Content-Type": "application/json",
            **({} if keeps else {"Connection": "close"}),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._installation.port, timeout=60)
        while not self._stop.is_set():
            try:
                connection.request("POST", "/v1/chat/completions", json.dumps(said), headers)
                response = connection.getresponse()
                body = response.read()
                if response.status != 200:
                    self.failed.append(f"{response.status} {body.decode()}")
            except OSError as error:
                self.failed.append(repr(error))
                connection.close()
            self.answered += 1
        connection.close()


def test_several_processes_serve_one_port(installation: Installation) -> None:
    with Callers(installation) as callers:
        wait_until(lambda: callers.answered > 100, what="a hundred calls")

    assert callers.failed == []
    assert len(servers(installation)) == 2


def test_each_process_sends_the_traces_of_its_calls(
    installation: Installation, collector: Collector
) -> None:
    with Callers(installation) as callers:
        wait_until(lambda: len(collector.instances()) == 2, what="traces of two processes")

    assert callers.failed == []


def test_a_killed_process_is_started_again_while_the_other_serves(
    installation: Installation,
) -> None:
    killed, other = servers(installation)

    with Callers(installation) as callers:
        os.kill(killed, signal.SIGKILL)
        wait_until(
            lambda: len(servers(installation)) == 2 and killed not in servers(installation),
            within_s=60,
            what="a new process",
        )
        wait_until(lambda: callers.answered > 0, what="a call that was answered")

    assert other in servers(installation)
    assert installation.ask()["choices"]


def test_processes_are_replaced_without_a_refused_call(
    installation: Installation, options: dict[str, str]
) -> None:
    before = servers(installation)

    with Callers(installation) as callers:
        again = up_process(installation.home, port=installation.port, env=options)
        wait_until(
            lambda: len(servers(installation)) == 2 and not {*before} & {*servers(installation)},
            within_s=120,
            what="two new processes, and the end of the old ones",
        )
        seen = callers.answered
        wait_until(lambda: callers.answered > seen + 20, what="more calls")

    assert again.returncode == 0, again.stderr
    assert "are being replaced, one after another" in again.stdout
    assert callers.failed == []
    assert REPLACED in installation.said
    assert "Metrics cannot be served" not in installation.said
    assert "Traceback" not in installation.said


def test_a_connection_that_was_idle_gets_an_answer_when_its_process_was_replaced(
    installation: Installation,
) -> None:
    replaced = installation.said.count(REPLACED)
    connections = [
        http.client.HTTPConnection("127.0.0.1", installation.port, timeout=60) for _ in range(8)
    ]
    for connection in connections:
        connection.request("GET", "/v1/health")
        connection.getresponse().read()

    installation.process.send_signal(signal.SIGHUP)
    wait_until(lambda: installation.said.count(REPLACED) > replaced, what="new processes")
    time.sleep(CLIENTS_KEEP_S)
    answers = []
    for connection in connections:
        connection.request("GET", "/v1/health")
        answer = connection.getresponse()
        answers.append((answer.status, answer.headers["connection"]))
        answer.read()
        connection.close()

    assert answers == [(200, "close")] * 8


def test_a_stream_outlives_the_process_that_is_replaced(installation: Installation) -> None:
    before = servers(installation)
    stream = installation.open_call("script:tokens=60&delay_ms=100", stream=True)

    installation.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not {*before} <= {*servers(installation)}, within_s=60, what="an end")
    rest = stream.read().decode()

    assert rest.endswith("data: [DONE]\n\n")
    assert '"finish_reason":"stop"' in rest or '"finish_reason":"length"' in rest
    assert '"error"' not in rest
    wait_until(
        lambda: len(servers(installation)) == 2 and not {*before} & {*servers(installation)},
        within_s=90,
        what="two new processes",
    )


def test_the_book_is_right_after_all_that(installation: Installation) -> None:
    installation.ask()

    def proves() -> bool:
        return run_manage(installation.home, "prove", "--json").returncode == 0

    wait_until(proves, within_s=90, what="a proof")


def test_several_processes_on_sqlite_are_refused(tmp_path: Path) -> None:
    done = up_process(tmp_path / "home", port=free_port(), env={"WORKERS": "2"})

    assert_refused_with(done, "2 server processes need PostgreSQL")


def test_several_processes_without_redis_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    use_postgresql(home)

    done = up_process(home, port=free_port(), env={"WORKERS": "2"})

    assert_refused_with(done, "2 server processes need Redis")
