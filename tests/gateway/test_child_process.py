"""Children give way to whoever carries calls, from the moment they start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.core.child_process import NICENESS, start_child

WORKER = "gateway.egress.fetch_worker"


@contextmanager
def child(niceness: int = NICENESS) -> Iterator[int]:
    process, link = start_child(WORKER, niceness=niceness)
    try:
        yield process.pid
    finally:
        link.close()
        process.kill()
        process.wait()


@pytest.mark.parametrize(("options", "beyond"), [({}, NICENESS), ({"niceness": 5}, 5)])
def test_a_child_has_a_lower_priority_before_it_has_started(
    options: dict[str, int], beyond: int
) -> None:
    with child(**options) as pid:
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(beyond, 19)
