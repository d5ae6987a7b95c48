"""Turns: nobody has them all."""

from __future__ import annotations

import asyncio

from gateway.core.turns import Turns


async def test_no_owner_has_more_than_its_part_and_all_have_no_more_than_there_are() -> None:
    turns, go_on = Turns(3, 2), asyncio.Event()
    having: list[str] = []

    async def take(owner: str) -> None:
        async with turns.turn(owner):
            having.append(owner)
            await go_on.wait()
            having.remove(owner)

    tasks = [asyncio.ensure_future(take(owner)) for owner in "aaaabbb"]
    for _ in range(10):
        await asyncio.sleep(0)
    assert having == ["a", "a", "b"]

    go_on.set()
    await asyncio.gather(*tasks)
    assert having == []
    assert len(turns._owners) == 0


async def test_who_gives_up_waiting_leaves_the_turn_to_others() -> None:
    turns = Turns(1, 1)
    async with turns.turn("a"):
        waiting = asyncio.ensure_future(turns.turn("a").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    async with asyncio.timeout(10), turns.turn("a"):
        pass
