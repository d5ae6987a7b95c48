"""Requests that Django answers are limited, and nobody keeps all others waiting."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.api.limit_concurrency import (
    API_LIMIT,
    API_OWNER_LIMIT,
    PAGE_LIMIT,
    PAGE_OWNER_LIMIT,
    limit_concurrency,
)
from gateway.api.mount import SCOPE_KEY
from gateway.http.head import read_head


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


def page_for(address: str) -> Any:
    return SimpleNamespace(name=address, scope={"client": (address, 1), "headers": []})


def api_without_key(address: str) -> Any:
    head = read_head({"client": (address, 1), "headers": []})
    inbound = SimpleNamespace(caller=None, head=head)
    return SimpleNamespace(name=address, scope={SCOPE_KEY: inbound})


def of_workspace(workspace_id: str) -> Any:
    caller = SimpleNamespace(key=SimpleNamespace(workspace_id=workspace_id))
    inbound = SimpleNamespace(caller=caller, head=None)
    return SimpleNamespace(name=workspace_id, scope={SCOPE_KEY: inbound})


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


Kind = Callable[[str], Any]
TWO_KINDS = {
    "the API": (api_without_key, of_workspace, API_LIMIT, API_OWNER_LIMIT),
    "pages": (page_for, page_for, PAGE_LIMIT, PAGE_OWNER_LIMIT),
}


@pytest.mark.parametrize(
    ("first", "second", "limit", "owner_limit"), TWO_KINDS.values(), ids=TWO_KINDS
)
async def test_one_address_and_one_workspace_leave_room_for_others(
    first: Kind, second: Kind, limit: int, owner_limit: int
) -> None:
    view = View()
    answer = limit_concurrency(view.answer)
    one, other = "192.0.2.1", "192.0.2.2"
    tasks = [asyncio.ensure_future(answer(first(one))) for _ in range(50)]
    await rest()
    alone = dict(view.running)
    tasks += [asyncio.ensure_future(answer(second(other))) for _ in range(50)]
    await rest()
    together = dict(view.running)

    view.may_end.set()
    answers = await asyncio.gather(*tasks)

    assert alone == {one: owner_limit}
    assert sum(together.values()) == limit
    assert together == {one: owner_limit, other: limit - owner_limit}
    assert answers == ["answer"] * 100


async def test_pages_take_no_slots_of_the_api() -> None:
    view = View()
    answer = limit_concurrency(view.answer)
    pages = [page_for(f"192.0.2.{n}") for n in range(50)]
    tasks = [asyncio.ensure_future(answer(page)) for page in pages]
    await rest()
    pages_alone = view.running.total()
    busy = [of_workspace(f"workspace {n % 2}") for n in range(50)]
    tasks += [asyncio.ensure_future(answer(request)) for request in busy]
    await rest()
    together = view.running.total()

    view.may_end.set()
    await asyncio.gather(*tasks)

    assert (pages_alone, together) == (PAGE_LIMIT, PAGE_LIMIT + API_LIMIT)


async def test_a_request_that_leaves_the_queue_or_fails_releases_its_slot() -> None:
    view = View()
    answer = limit_concurrency(view.answer)
    tasks = [asyncio.ensure_future(answer(page_for("192.0.2.1"))) for _ in range(20)]
    await rest()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    view.may_end.set()

    assert await answer(page_for("192.0.2.1")) == "answer"


def test_who_calls_from_the_same_process_waits_for_nobody() -> None:
    def answer(request: Any) -> str:
        return "answer"

    assert limit_concurrency(answer) is answer
