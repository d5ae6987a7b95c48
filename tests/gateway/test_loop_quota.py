"""Work of one kind is spread over the passes of an event loop."""

from __future__ import annotations

import asyncio

import pytest

from gateway.core.loop_quota import LoopQuota, LoopTimeQuota


async def passes(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_so_much_is_done_in_a_pass_and_the_rest_in_the_next_ones_in_order() -> None:
    quota = LoopQuota(asyncio.get_running_loop(), 2)
    done: list[int] = []
    for number in range(5):
        quota.call(lambda number=number: done.append(number))  # type: ignore[misc]

    seen = [list(done)]
    for _ in range(3):
        await passes(1)
        seen.append(list(done))

    assert seen == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


async def test_who_comes_later_does_not_overtake_who_waits() -> None:
    quota = LoopQuota(asyncio.get_running_loop(), 1)
    done: list[str] = []
    for name in ("first", "second", "third"):
        quota.call(lambda name=name: done.append(name))  # type: ignore[misc]
    await passes(1)
    quota.call(lambda: done.append("late"))
    await passes(4)

    assert done == ["first", "second", "third", "late"]


async def test_work_that_takes_long_ends_a_pass() -> None:
    quota = LoopTimeQuota(asyncio.get_running_loop(), 1)
    done: list[int] = []
    for number in range(3):
        quota.call(lambda number=number: done.append(number))  # type: ignore[misc]

    assert done == [0]
    await passes(4)
    assert done == [0, 1, 2]


async def test_a_failure_is_of_who_waits_for_it() -> None:
    quota = LoopQuota(asyncio.get_running_loop(), 1)
    quota.call(lambda: None)

    with pytest.raises(ZeroDivisionError):
        await quota.run(lambda: 1 // 0)
    assert await quota.run(lambda: "fine") == "fine"


async def test_who_left_while_waiting_takes_nobody_elses_place() -> None:
    quota = LoopQuota(asyncio.get_running_loop(), 1)
    for _ in range(5):
        quota.call(lambda: None)
    leaving, staying = asyncio.ensure_future(quota.turn()), asyncio.ensure_future(quota.turn())
    await passes(1)
    leaving.cancel()

    async with asyncio.timeout(60):
        await staying
    assert leaving.cancelled()
