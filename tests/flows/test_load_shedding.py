"""A neighbour who makes more calls than can be carried is refused; who makes few is not.

How much is carried meanwhile, and how fast: `python -m tests.faults.flood neighbour`.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site
from tests.support.waiting import wait_until

SIMULATED = "tollhouse/simulated"
FLOODING = 10
# An answer that takes the loop longer to make than it may be late.
LONG = "script:tokens=30000"
# A share of what is always carried, even by a loop that is late for other reasons.
PAUSE_S = 0.1


@pytest.fixture
def strict_site(home_template: Path, tmp_path: Path) -> Iterator[Site]:
    """A gateway that is not late by more than a millisecond."""
    home = Path(shutil.copytree(home_template, tmp_path / "strict"))
    with running_site(home, {"TOLLHOUSE_SHED_LAG_MS": "1"}) as site:
        yield site


@contextmanager
def flooding(caller: Caller) -> Iterator[list[Answer]]:
    """Call without a pause from many threads; collect what is not 200."""
    refused: list[Answer] = []
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            answer = caller.ask(LONG)
            if answer.status != 200:
                refused.append(answer)

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(FLOODING)]
    for thread in threads:
        thread.start()
    try:
        yield refused
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_flood_of_one_key_is_refused_and_no_call_of_another(strict_site: Site) -> None:
    flooder = strict_site.caller(credit_nusd=1_000 * NUSD_PER_USD).with_(model=SIMULATED)
    neighbour = strict_site.caller().with_(model=SIMULATED)
    statuses = []

    with flooding(flooder) as refused:
        wait_until(lambda: refused, what="the flood to be refused")
        for _ in range(20):
            statuses.append(neighbour.ask("hello").status)
            time.sleep(PAUSE_S)

    assert set(statuses) == {200}
    assert {(a.status, a.error["code"]) for a in refused} == {(503, "overloaded")}
    assert all(1 <= int(a.headers["retry-after"]) <= 10 for a in refused)
    wait_until(lambda: flooder.ask("hello").status == 200, what="the flooder to be served again")
