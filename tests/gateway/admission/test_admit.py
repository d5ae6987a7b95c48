"""The last steps of admission: whatever goes wrong, nothing stays set aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from gateway.admission.admit import Admission
from gateway.admission.keyring import Keyring
from gateway.admission.limits import Limits
from gateway.admission.load_shedding import LoadShedder
from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.memory_spending import MemorySpendings
from gateway.core.budget_owner import key_owner
from gateway.core.errors import (
    DatabaseUnavailable,
    GatewayError,
    InvalidKey,
    KeyLimitExceeded,
    StorageUnavailable,
)
from gateway.core.grant import Grant
from gateway.core.money import Price
from gateway.core.profiles import UNIFIED
from gateway.core.request import RequestHead
from gateway.core.spent import Reading, Spent
from gateway.endpoints.chat_completions.endpoint import ChatCompletions
from gateway.endpoints.rules import Rules
from gateway.snapshot.caller import Caller
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, ModelRecord, SpendingLimits
from tests.support.calls import chat_call
from tests.support.waiting import async_wait_until

ENDPOINT = ChatCompletions(Rules())
HEAD = RequestHead(request_id="id", headers=(), peer="", fields={})
CALL = chat_call("m", max_tokens=10, prompt_tokens_bound=5)
MODEL = ModelRecord(
    name="m",
    display_name="M",
    description="",
    owned_by="us",
    created=0,
    price=Price(1_000, 1_000, 1_000),
    context_tokens=None,
    max_output_tokens=100,
    unknown_fields="forward",
    targets=(),
)


class Purse:
    """Money without end, and how much of it is held."""

    def __init__(self) -> None:
        self.held_nusd = 0

    def try_hold(self, workspace_id: str, want_nusd: int) -> bool:
        self.held_nusd += want_nusd
        return True

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int:
        raise AssertionError("There is enough for all.")

    def release(self, workspace_id: str, hold_nusd: int, charge_nusd: int) -> int:
        self.held_nusd -= hold_nusd
        return charge_nusd


class FarPurse(Purse):
    """Money that has to be waited for, and meanwhile something happens."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self._happens = happens

    def try_hold(self, workspace_id: str, want_nusd: int) -> bool:
        return False

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int:
        await asyncio.sleep(0)
        self._happens()
        self.held_nusd += want_nusd
        return want_nusd


class Patient:
    """A caller that never hangs up."""

    async def wait_for_hang_up(self) -> None:
        await asyncio.Event().wait()


def make_key(*, total_nusd: int = 10_000, at_once: int = 1, revoked: bool = False) -> KeyRecord:
    of_spending = (SpendingLimits(key_owner("k", "w"), total_nusd=total_nusd),)
    limits = KeyLimits(CallLimits(1, 5, at_once), CallLimits(), of_spending)
    scopes: frozenset[str] = frozenset()
    return KeyRecord(
        key_id="k",
        digest="k",
        workspace_id="w",
        scopes=scopes,
        expires_at=None,
        revoked=revoked,
        workspace_locked=False,
        stores_bodies=False,
        limits=limits,
    )


class Door:
    """An admission whose parts can be looked into."""

    def __init__(self, write_down: Callable[[Grant], None]) -> None:
        self.stored = make_key()
        self.purse = Purse()
        self.limits = Limits(MemoryCounters(self.read_spent))
        self.admission = Admission(
            keyring=Keyring(self.load),
            snapshot=SnapshotHolder(),
            credits=self.purse,
            limits=self.limits,
            check=lambda call, model: (),
            write_down=write_down,
            take_id=self.take_id,
            shedder=LoadShedder(0),
        )

    async def load(self, digest: str) -> KeyRecord:
        return self.stored

    async def read_spent(self, limits: SpendingLimits) -> Reading:
        return Reading(Spent(), 0.0, 0)

    async def take_id(self, workspace_id: str, wanted: str) -> bool:
        return False

    async def admit(self, key: KeyRecord) -> Grant:
        caller = Caller(key, "")
        hang_up = Patient().wait_for_hang_up
        return await self.admission.admit(
            caller, CALL, HEAD, UNIFIED, ENDPOINT, MODEL, (), (), hang_up
        )

    async def admit_while_waiting(self, happens: Callable[[], None]) -> Grant:
        """Let a call in that has to wait for another, while something happens."""
        first = await self.admit(make_key())
        waiting = asyncio.ensure_future(self.admit(make_key()))

        async def waits() -> bool:
            return self.limits.has_queue("k")

        await async_wait_until(waits)
        happens()
        assert first.lease is not None
        first.lease.end()
        self.purse.release("w", first.hold_nusd, 0)
        return await waiting

    def assert_nothing_is_held(self) -> None:
        key = make_key()
        assert self.purse.held_nusd == 0
        assert isinstance(self.limits.spending, MemorySpendings)
        spending = self.limits.spending.of("k")
        assert spending is not None
        assert spending.held_nusd == 0
        assert key.limits is not None
        [_, own] = self.limits._follow(key, key.limits, 0)
        assert own.concurrency is None or own.concurrency.in_use == 0


def fail_with(error: Exception) -> Callable[[Grant], None]:
    def write_down(grant: Grant) -> None:
        raise error

    return write_down


@pytest.mark.parametrize(
    "error", [StorageUnavailable(), DatabaseUnavailable(), ValueError("a bug")], ids=repr
)
def test_a_call_that_cannot_be_written_down_holds_nothing(error: Exception) -> None:
    async def run() -> None:
        door = Door(fail_with(error))

        with pytest.raises(type(error)):
            await door.admit(make_key())

        door.assert_nothing_is_held()

    asyncio.run(run())


def test_a_call_beyond_its_keys_limit_holds_nothing() -> None:
    async def run() -> None:
        door = Door(lambda grant: None)

        with pytest.raises(KeyLimitExceeded):
            await door.admit(make_key(total_nusd=1))

        door.assert_nothing_is_held()

    asyncio.run(run())


def revoke(door: Door) -> None:
    door.stored = make_key(revoked=True)
    door.admission._keyring.forget_key("k")


def lose_the_database(door: Door) -> None:
    async def load(digest: str) -> KeyRecord:
        raise DatabaseUnavailable

    door.admission._keyring = Keyring(load)


@pytest.mark.parametrize(
    ("happens", "error"),
    [(revoke, InvalidKey), (lose_the_database, DatabaseUnavailable)],
    ids=["the key is revoked", "the database goes away"],
)
def test_a_call_whose_turn_comes_too_late_holds_nothing(
    happens: Callable[[Door], None], error: type[GatewayError]
) -> None:
    async def run() -> None:
        door = Door(lambda grant: None)

        with pytest.raises(error):
            await door.admit_while_waiting(lambda: happens(door))

        door.assert_nothing_is_held()

    asyncio.run(run())


def test_a_key_revoked_while_money_is_fetched_is_not_let_in() -> None:
    async def run() -> None:
        door = Door(lambda grant: None)
        door.purse = FarPurse(lambda: revoke(door))
        door.admission._reserver._credits = door.purse

        with pytest.raises(InvalidKey):
            await door.admit(make_key())

        door.assert_nothing_is_held()

    asyncio.run(run())


def test_a_call_that_waited_is_let_in_and_knows_how_long() -> None:
    async def run() -> None:
        door = Door(lambda grant: None)

        grant = await door.admit_while_waiting(lambda: None)

        assert grant.lease is not None
        assert grant.lease.queued_us > 0
        grant.lease.end()
        door.purse.release("w", grant.hold_nusd, 0)
        door.assert_nothing_is_held()

    asyncio.run(run())
