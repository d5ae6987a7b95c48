"""Who may run the request of an idempotency key, and what becomes of it in bad moments."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from gateway.core.errors import Conflict, IdempotencyMismatch
from gateway.core.ids import new_request_id
from gateway.models import KeptAnswer, ServingProcess
from gateway.stores import idempotency
from gateway.stores.idempotency import Claim, IdempotencyStore
from tests.support.waiting import async_wait_until

pytestmark = pytest.mark.django_db(transaction=True)
WORKSPACE, OURS, THEIRS = (str(uuid.UUID(int=n)) for n in (1, 2, 3))


class Database:
    """Carries queries out, except while it is away."""

    def __init__(self) -> None:
        self.is_away = False

    async def run(self, query: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
        if self.is_away:
            raise OperationalError("database is locked")
        return query(*arguments, **named)


async def claim(database: Database, process_id: str) -> Claim:
    return await IdempotencyStore(database.run, database.run, lambda: lambda: False).claim(
        workspace_id=WORKSPACE,
        key="a key",
        fingerprint="a body",
        call_id=new_request_id(),
        process_id=process_id,
    )


def enter_process(process_id: str, *, lease_s: int, state: str = "alive") -> None:
    now = timezone.now()
    ServingProcess.objects.create(
        id=process_id,
        host="here",
        pid=1,
        state=state,
        started_at=now,
        heartbeat_at=now,
        lease_until=now + timedelta(seconds=lease_s),
        journal_path="",
    )


@pytest.fixture(autouse=True)
def queries_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


def test_a_running_call_of_this_process_keeps_its_key_when_the_lease_could_not_be_renewed() -> None:
    enter_process(OURS, lease_s=-60)

    async def work() -> None:
        database = Database()
        await claim(database, OURS)
        with pytest.raises(Conflict):
            await claim(database, OURS)

    asyncio.run(work())


@pytest.mark.parametrize("state", ["alive", "reaped"])
def test_a_call_of_a_dead_process_loses_its_key_once_its_journal_was_posted(state: str) -> None:
    enter_process(THEIRS, lease_s=-60, state=state)

    async def work() -> None:
        database = Database()
        await claim(database, THEIRS)
        if state == "alive":  # the answer may be in its journal
            with pytest.raises(Conflict):
                await claim(database, OURS)
        else:
            assert (await claim(database, OURS)).kept is None

    asyncio.run(work())


def test_who_asks_at_the_same_time_runs_once_or_waits() -> None:
    async def work() -> list[Any]:
        database = Database()
        store = IdempotencyStore(database.run, database.run, lambda: lambda: False)
        fields = {"workspace_id": WORKSPACE, "key": "a key", "process_id": OURS}
        return await asyncio.gather(
            *(
                store.claim(**fields, fingerprint=text, call_id=new_request_id())
                for text in ("a", "a", "b")
            ),
            return_exceptions=True,
        )

    first, second, third = asyncio.run(work())

    assert first.kept is None
    assert isinstance(second, Conflict)
    assert isinstance(third, IdempotencyMismatch)


def test_a_key_is_freed_once_the_database_is_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "RETRY_S", 0.01)

    async def is_free() -> bool:
        return not KeptAnswer.objects.exists()

    async def work() -> None:
        database = Database()
        claimed = await claim(database, OURS)
        database.is_away = True
        await claimed.drop()
        assert KeptAnswer.objects.exists()
        database.is_away = False
        await async_wait_until(is_free, what="the key to be freed")

    asyncio.run(work())
