"""The database server ends and comes back: what the server and the background worker log of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gateway.launch.programs import worker_command
from tests.flows.site import running_site
from tests.flows.test_sessions import Visitor
from tests.support.postgresql import running_postgresql
from tests.support.servers import ROOT, STOP_S, environment, prepare_home
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ [\w.]+: ")


@contextmanager
def running_worker(home: Path, env: dict[str, str]) -> Iterator[Path]:
    """Run the background worker; yield its log."""
    path = home / "worker.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            worker_command(), cwd=ROOT, env=environment(home, env), stdout=log, stderr=log
        )
    try:
        yield path
    finally:
        process.terminate()
        process.wait(STOP_S)


def test_an_outage_is_logged_in_lines_and_not_in_tracebacks(tmp_path: Path) -> None:
    with running_postgresql() as own:
        home, env = tmp_path / "home", {"DATABASE_URL": own.url()}
        prepare_home(home, env=env)
        with running_site(home, env) as site, running_worker(home, env) as worker_log:
            caller = site.caller()
            assert caller.ask("a", max_tokens=5).status == 200

            own.stop()
            caller.with_(secret="sk-gw-nobody").ask("a")
            page = Visitor(site.gateway.port).get("/sign-in")
            wait_until(
                lambda: "Background work waits for the database" in worker_log.read_text(),
                what="the worker to notice",
            )
            own.start()
            wait_until(
                lambda: "Background work goes on" in worker_log.read_text(),
                what="the worker to go on",
            )
            wait_until(lambda: caller.ask("a").status == 200, what="calls to be admitted again")

            with suppress(AssertionError):
                site.office.do("drawn_nusd")  # it notices that its connection is gone

            assert page in (200, 503)
            for log in (site.gateway.log, worker_log):
                lines = log.read_text().splitlines()
                assert [line for line in lines if not LINE.match(line)] == []
            assert worker_log.read_text().count("Background work") == 2
