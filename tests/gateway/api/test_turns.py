"""Requests that Django answers take turns, and nobody keeps all others waiting."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

from gateway.api.mount import SCOPE_KEY
from gateway.api.turns import MOST, MOST_OF_ONE, take_turns


class View:
    """Stands in for all that is behind the middleware: answers when it is told to."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.may_end = asyncio.Event()

    async def answer(self, request: Any) -> str:
        self.running[request.name] += 1
        await self.may_end.wait()
        self.running[request.name] -= 1
        return "answer"


def from_address(address: str) -> Any:
    return SimpleNamespace(name=address, scope={"client": (address, 1), "headers": []})


def of_workspace(workspace_id: str) -> Any:
    caller = SimpleNamespace(key=SimpleNamespace(workspace_id=workspace_id))
    inbound = SimpleNamespace(caller=caller, head=None)
    return SimpleNamespace(name=workspace_id, scope={SCOPE_KEY: inbound})


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_address_and_one_workspace_leave_turns_to_others() -> None:
    view = View()
    answer = take_turns(view.answer)
    many = [from_address("192.0.2.1"), of_workspace("busy")] * 50
    tasks = [asyncio.ensure_future(answer(request)) for request in many[::2]]
    await rest()
    alone = dict(view.running)
    tasks += [asyncio.ensure_future(answer(request)) for request in many[1::2]]
    await rest()
    together = dict(view.running)

    view.may_end.set()
    answers = await asyncio.gather(*tasks)

    assert alone == {"192.0.2.1": MOST_OF_ONE}
    assert sum(together.values()) == MOST
    assert together == {"192.0.2.1": MOST_OF_ONE, "busy": MOST - MOST_OF_ONE}
    assert answers == ["answer"] * 100


async def test_who_leaves_the_line_or_fails_gives_its_turn_back() -> None:
    view = View()
    answer = take_turns(view.answer)
    tasks = [asyncio.ensure_future(answer(from_address("192.0.2.1"))) for _ in range(20)]
    await rest()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    view.may_end.set()

    assert await answer(from_address("192.0.2.1")) == "answer"


def test_who_calls_from_the_same_process_waits_for_nobody() -> None:
    def answer(request: Any) -> str:
        return "answer"

    assert take_turns(answer) is answer
