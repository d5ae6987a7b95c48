"""Keys that are not in memory: asked for together, and those used last there from the start."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from django.db import OperationalError, connection

import gateway.admission.keyring
from gateway.admission.keyring import Keyring
from gateway.core.errors import DatabaseUnavailable
from gateway.models import CallRecord
from gateway.snapshot.types import KeyRecord
from gateway.stores.key_records import load_key_records, load_recent_key_records
from gateway.stores.queries import Batches, QueryThreads
from keys.secret import digest_secret
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_key, make_workspace

KEYS, CALLERS = 60, 5


@pytest.mark.django_db(transaction=True)
def test_keys_that_many_callers_wait_for_are_read_by_few_queries() -> None:
    workspace = make_workspace()
    secrets = [make_key(workspace).secret for _ in range(KEYS)]
    digests = [digest_secret(secret) for secret in (*secrets, "sk-gw-unknown")]
    queries: list[int] = []

    def load(wanted: Sequence[str]) -> list[KeyRecord | None]:
        queries.append(len(wanted))
        try:
            return load_key_records(wanted)
        finally:
            connection.close()

    async def work() -> list[KeyRecord | None]:
        keyring = Keyring(Batches(QueryThreads("keys", 1).run, load).ask)
        return await asyncio.gather(*(keyring.find(digest) for digest in digests * CALLERS))

    found = asyncio.run(work())

    assert [record and record.digest for record in found] == [*digests[:-1], None] * CALLERS
    assert sum(queries) == len(digests)  # each key is asked for once
    assert len(queries) <= 2


@pytest.mark.django_db(transaction=True)
def test_who_waits_while_the_database_fails_is_told_so_at_once() -> None:
    tries: list[int] = []

    def load(wanted: Sequence[str]) -> list[KeyRecord | None]:
        tries.append(len(wanted))
        connection.close()
        raise OperationalError("database is locked")

    async def work() -> list[KeyRecord | BaseException | None]:
        keyring = Keyring(Batches(QueryThreads("keys", 1).run, load, max_batch=1).ask)
        finds = (keyring.find(str(number)) for number in range(20))
        return await asyncio.gather(*finds, return_exceptions=True)

    found = asyncio.run(work())

    assert [type(error) for error in found] == [DatabaseUnavailable] * 20
    assert tries == [1]


@pytest.mark.django_db
def test_the_keys_that_were_used_last_are_read_at_the_start() -> None:
    workspace = make_workspace()
    unused = make_key(workspace).key
    make_demo_data(workspace, days=1, calls_per_day=100)
    # Not every key has calls on a quiet weekend, and a running call is in no total yet.
    ended = CallRecord.objects.exclude(status=CallRecord.Status.IN_PROGRESS)
    used = {str(key_id) for key_id in ended.values_list("key_id", flat=True)}

    records = load_recent_key_records(1_000)

    assert {record.key_id for record in records} == used
    assert str(unused.pk) not in used
    assert len(records) > 1
    assert len(load_recent_key_records(1)) == 1


async def fail(digest: str) -> KeyRecord | None:
    raise AssertionError(digest)


def make_record(digest: str, workspace_id: str = "w") -> KeyRecord:
    return KeyRecord(
        key_id=f"key {digest}",
        digest=digest,
        workspace_id=workspace_id,
        scopes=frozenset(),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
    )


def test_a_key_that_is_there_from_the_start_is_not_asked_for() -> None:
    record = make_record("digest")
    keyring = Keyring(fail)

    keyring.fill([record])

    assert asyncio.run(keyring.find("digest")) is record


def test_of_a_changed_workspace_all_keys_are_forgotten_and_no_others() -> None:
    keyring = Keyring(fail)
    keyring.fill([make_record("a", "one"), make_record("b", "one"), make_record("c", "two")])

    assert {record.digest for record in keyring.forget_workspace("one")} == {"a", "b"}
    assert keyring.forget_workspace("one") == []
    assert keyring.peek("a") is None
    assert keyring.peek("c") is not None

    keyring.fill([make_record("a", "one")])
    assert keyring.forget_key("a") is not None
    assert keyring.forget_workspace("one") == []


def test_no_more_keys_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway.admission.keyring, "MAX_KNOWN", 2)
    monkeypatch.setattr(gateway.admission.keyring, "MAX_UNKNOWN", 2)
    asked: list[str] = []

    async def load(digest: str) -> KeyRecord | None:
        asked.append(digest)
        return make_record(digest) if digest in "abc" else None

    async def work() -> None:
        keyring = Keyring(load)
        for digest in "abcbcxyzyz":
            await keyring.find(digest)
        assert keyring.peek("a") is None
        await keyring.find("a")
        await keyring.find("x")
        assert {record.digest for record in keyring.forget_workspace("w")} == {"a", "c"}

    asyncio.run(work())

    assert asked == [*"abcxyzax"]
