"""Work of several owners is spread over the passes of an event loop, in turns."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise

from gateway.core.fair_loop_quota import FairLoopQuota
from gateway.core.fair_queue import Owner
from tests.gateway.test_loop_quota import passes

FLOOD, NEIGHBOUR, STRANGER = Owner("here", "flood"), Owner("here", "n"), Owner("there", "s")
NEVER_LONG_NS, ALWAYS_LONG_NS = 10**18, -1


class Work:
    def __init__(self, most: int, pass_ns: int) -> None:
        self.quota = FairLoopQuota(asyncio.get_running_loop(), most, pass_ns)
        self.done: list[str] = []

    def ask(self, owner: Owner, name: str) -> None:
        if self.quota.try_take():
            self.done.append(name)
        else:
            self.quota.wait(owner, partial(self.done.append, name))


async def test_so_much_begins_in_a_pass_and_then_owners_take_turns() -> None:
    work = Work(2, NEVER_LONG_NS)
    for number in range(6):
        work.ask(FLOOD, f"f{number}")
    work.ask(NEIGHBOUR, "n")
    work.ask(STRANGER, "s")

    assert work.done == ["f0", "f1"]
    await passes(1)
    assert work.done[2:] == ["f2", "s"]
    await passes(4)
    assert work.done[4:] == ["n", "f3", "f4", "f5"]


async def test_while_something_waits_long_passes_begin_less() -> None:
    work = Work(8, ALWAYS_LONG_NS)
    for number in range(30):
        work.ask(FLOOD, str(number))

    began = [len(work.done)]
    for _ in range(6):
        await passes(1)
        began.append(len(work.done))

    assert [after - before for before, after in pairwise(began)] == [*(8, 4, 2, 1, 1, 1)]


async def test_when_nothing_waits_any_more_a_pass_begins_as_much_as_before() -> None:
    work = Work(4, ALWAYS_LONG_NS)
    for number in range(12):
        work.ask(FLOOD, str(number))
    await passes(2)
    assert work.quota.delay_s > 0
    await passes(20)
    assert work.quota.delay_s == 0

    work.done.clear()
    for number in range(5):
        work.ask(FLOOD, str(number))

    assert len(work.done) == 4
