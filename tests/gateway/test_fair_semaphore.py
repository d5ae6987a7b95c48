"""The fair semaphore: no owner has all its slots."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import uuid
from collections import Counter
from types import SimpleNamespace

import pytest
from asgiref.sync import ThreadSensitiveContext

from dashboard.calls import export as call_export
from gateway.api.limit_concurrency import PAGE_LIMIT, limit_concurrency
from gateway.api.mount import SCOPE_KEY
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.switch_interval import LONG_SWITCH_S, SHORT_SWITCH_S
from gateway.selectors.call_filters import CallFilters
from gateway.selectors.calls import CallPage
from gateway.selectors.visible import Visible


async def test_no_owner_has_more_than_its_part_and_all_have_no_more_than_there_are() -> None:
    semaphore, go_on = FairSemaphore(3, 2), asyncio.Event()
    having: list[str] = []

    async def take(owner: str) -> None:
        async with semaphore.slot(owner):
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
    assert len(semaphore._owners) == 0


async def test_who_gives_up_waiting_leaves_the_slot_to_others() -> None:
    semaphore = FairSemaphore(1, 1)
    async with semaphore.slot("a"):
        waiting = asyncio.ensure_future(semaphore.slot("a").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    async with asyncio.timeout(10), semaphore.slot("a"):
        pass


async def test_pages_have_few_slots_of_their_own_and_calls_get_the_interpreter_sooner() -> None:
    go_on, running = asyncio.Event(), Counter[str]()

    async def answer(request: SimpleNamespace) -> None:
        running[request.kind] += 1
        await go_on.wait()

    in_turn = limit_concurrency(answer)
    owner = SimpleNamespace(key=SimpleNamespace(workspace_id="w"))
    inbound = SimpleNamespace(caller=owner, head=None)

    def ask(kind: str, address: int, **more: object) -> asyncio.Task[None]:
        scope = {"type": "http", "headers": [], "client": (f"10.{address}.0.1", 1), **more}
        return asyncio.ensure_future(in_turn(SimpleNamespace(kind=kind, scope=scope)))

    tasks = [ask("page", address) for address in range(9)]
    tasks += [ask("api", 0, **{SCOPE_KEY: inbound}) for _ in range(4)]
    for _ in range(20):
        await asyncio.sleep(0)

    assert running == {"page": PAGE_LIMIT, "api": 4}
    assert sys.getswitchinterval() == pytest.approx(SHORT_SWITCH_S)

    go_on.set()
    await asyncio.gather(*tasks)
    assert running["page"] == 9
    assert sys.getswitchinterval() == pytest.approx(LONG_SWITCH_S)


async def test_files_of_calls_are_written_one_piece_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = [0, 0]
    lock = threading.Lock()

    def read_page(*_: object) -> tuple[CallPage, str]:
        with lock:
            at_once[0] += 1
            at_once[1] = max(at_once)
        time.sleep(0.01)
        with lock:
            at_once[0] -= 1
        pages.append("a page")
        older = None if len(pages) > 5 else uuid.UUID(int=1)
        return CallPage([], None, older), "a line"

    pages: list[str] = []
    monkeypatch.setattr(call_export, "_read_page", read_page)

    async def export() -> list[str]:
        async with ThreadSensitiveContext():  # a thread of its own, as each request has
            lines = call_export.csv_lines(Visible(uuid.UUID(int=0)), CallFilters())
            return [line async for line in lines]

    await asyncio.gather(export(), export())

    assert len(pages) > 5
    assert at_once == [0, 1]
