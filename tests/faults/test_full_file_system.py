"""The file system of a home is really full, again and again, while calls run."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import running_site
from tests.support.rows import FILE
from tests.support.small_disk import mounted
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

SIZE_MB = 64
ROUNDS = 3
PIECE = b"\0" * 65_536


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", SIZE_MB) as folder:
        yield folder


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Take all that is left of the disk."""
    path = folder / "filling"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(PIECE)
    assert shutil.disk_usage(folder).free == 0
    try:
        yield
    finally:
        path.unlink()


def call_until_refused(caller: Caller, ids: list[str]) -> str:
    """Make calls until one is refused; note the IDs of the others, return the refusal's code."""

    def refusal() -> str:
        answer = caller.ask("a", max_tokens=5, user="x" * 200)
        if answer.status == 200:
            ids.append(answer.call_id)
            return ""
        assert answer.status == 503, answer.body
        assert int(answer.headers["retry-after"]) >= 1
        return str(answer.error["code"])

    return wait_until(refusal, what="a refusal")


def wait_until_admitted(caller: Caller) -> None:
    wait_until(lambda: caller.ask("a").status == 200, what="calls to be admitted again")


def test_nothing_answered_is_lost_and_calls_that_run_end_well(
    home_template: Path, small_disk: Path
) -> None:
    home = Path(shutil.copytree(home_template, small_disk / "home"))
    ids: list[str] = []
    codes = set()
    with running_site(home) as site:
        for _ in range(ROUNDS):
            caller = site.caller()
            gate = caller.key_id
            stream = caller.begin(f"script:tokens=9&stall_after=2&gate={gate}", stream=True)
            stream.wait_for_tokens(2)
            buffered = caller.begin(f"script:tokens=9&gate={gate}")
            site.running(caller, count=2)
            with filled(small_disk):
                codes.add(call_until_refused(caller, ids))
                site.upstream.open_gate(gate)
                ends = [stream.answer(), buffered.answer()]
            wait_until_admitted(caller)
            assert [(end.status, end.is_whole) for end in ends] == [(200, True)] * 2
            assert ends[0].events[-1] == "[DONE]"
            ids += [end.call_id for end in ends]

        assert {site.record(call_id)["status"] for call_id in ids} == {"ok"}
    assert codes <= {"storage_unavailable", "database_unavailable"}
    if (home / FILE).exists():
        with closing(sqlite3.connect(home / FILE)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
