"""Limits as one call meets them: in what order it is refused, and what is left behind then."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gateway.admission.counter_protocols import QueueLimits
from gateway.admission.lease import Lease
from gateway.admission.limits import Limits
from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.memory_spending import MemorySpendings
from gateway.admission.spending import BudgetExceeded
from gateway.core.budget_owner import key_owner, member_owner, workspace_owner
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import (
    ConcurrencyLimited,
    DatabaseUnavailable,
    GatewayError,
    KeyLimitExceeded,
    RateLimited,
)
from gateway.core.grant import Grant
from gateway.core.money import Price, Usage
from gateway.core.receipt import Receipt
from gateway.core.spent import Reading, Spent
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, SpendingLimits
from tests.gateway.admission import counting
from tests.gateway.admission.counting import enter, remaining, soon

BURST = 5


class Ledger:
    """What a key has spent, as whoever reads it is told; every question waits for `answer`."""

    def __init__(self) -> None:
        self.questions: list[asyncio.Future[Reading]] = []

    async def read(self, limits: SpendingLimits) -> Reading:
        self.questions.append(asyncio.get_running_loop().create_future())
        return await self.questions[-1]

    async def asked(self) -> None:
        """Return when somebody has asked."""
        await soon(lambda: bool(self.questions))

    async def answer(self, nusd: int = 0, posted: int = 0) -> None:
        await self.asked()
        reading = Reading(Spent(nusd, nusd, nusd, nusd), 0.0, posted)
        self.questions.pop().set_result(reading)


def make_key(
    *,
    of_key: CallLimits | None = None,
    of_workspace: CallLimits | None = None,
    total_nusd: int | None = None,
    key_id: str = "key",
) -> KeyRecord:
    owner = key_owner(key_id, "workspace")
    spending = None if total_nusd is None else (SpendingLimits(owner, total_nusd=total_nusd),)
    limits = KeyLimits(of_key or CallLimits(), of_workspace or CallLimits(), spending)
    return KeyRecord(
        key_id=key_id,
        digest=key_id,
        workspace_id="workspace",
        scopes=frozenset(),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
        limits=limits,
    )


def live(test: Callable[[Ledger, Limits], Awaitable[None]]) -> None:
    """Run a test on a loop of its own, with nobody waiting longer than an instant."""

    async def run() -> None:
        ledger = Ledger()
        await test(ledger, Limits(MemoryCounters(ledger.read), QueueLimits(queue_s=0.001)))

    asyncio.run(run())


async def refused(entering: Awaitable[Lease]) -> type[GatewayError] | None:
    error = await counting.refused(entering)
    return None if error is None else type(error)


def held_nusd(limits: Limits) -> int:
    """Return what running calls of the key hold."""
    assert isinstance(limits.spending, MemorySpendings)
    spending = limits.spending.of("key")
    assert spending is not None
    return spending.held_nusd


def charge(
    limits: Limits,
    nusd: int,
    record: int,
    lease: Lease | None = None,
    member: str = "",
    key_id: str = "key",
) -> None:
    """Tell the limits what a call of the key has cost."""
    grant = Grant(
        identity=CallIdentity(call_id="", workspace_id="", key_id=key_id, at=0.0),
        model="",
        price=Price(0, 0, 0),
        hold_nusd=0,
        limit_tokens=0,
        cap_tokens=None,
        member=member,
        lease=lease,
    )
    receipt = Receipt(status="ok", charge_basis="usage", usage=Usage(), charge_nusd=nusd)
    limits.charged(grant, receipt, record)


def test_money_comes_before_the_rate_and_the_rate_before_a_place() -> None:
    tight = CallLimits(1, 1, 1)

    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(of_key=tight, total_nusd=10)
        first = asyncio.ensure_future(enter(limits, key, 6))
        await ledger.answer()
        lease = await first

        assert await refused(enter(limits, key, 5)) is BudgetExceeded
        assert await refused(enter(limits, key, 4)) is RateLimited
        lax = make_key(of_key=CallLimits(1, 2, 1), total_nusd=10)
        assert await refused(enter(limits, lax, 4)) is ConcurrencyLimited

        lease.end()
        assert held_nusd(limits) == 0

    live(test)


@pytest.mark.parametrize("level", ["of_key", "of_workspace"])
def test_who_finds_no_place_gives_all_back(level: str) -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        one = make_key(of_key=CallLimits(1, BURST, 1), of_workspace=CallLimits(1, BURST, 1))
        other = make_key(of_key=CallLimits(1, BURST, 1), of_workspace=CallLimits(1, BURST, 1))
        key = one if level == "of_key" else other
        lease = await enter(limits, one)

        assert await refused(enter(limits, key)) is ConcurrencyLimited

        assert remaining(limits, key) == BURST - 1
        lease.end()
        (await enter(limits, key)).end()

    live(test)


def test_a_lease_ended_again_gives_nothing_twice() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(of_key=CallLimits(at_once=1))
        lease = await enter(limits, key)
        lease.end()
        lease.end()
        lease.withdraw()

        second = await enter(limits, key)

        assert await refused(enter(limits, key)) is ConcurrencyLimited
        second.end()

    live(test)


def test_a_withdrawn_call_was_never_counted() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(of_key=CallLimits(1, BURST, 1))
        (await enter(limits, key)).withdraw()

        assert remaining(limits, key) == BURST
        (await enter(limits, key)).end()
        assert remaining(limits, key) == BURST - 1

    live(test)


def test_the_ledger_is_read_once_however_many_want_to_know() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        calls = [asyncio.ensure_future(enter(limits, key, 30)) for _ in range(5)]
        await ledger.answer(nusd=20)
        results = await asyncio.gather(*calls, return_exceptions=True)

        assert ledger.questions == []
        assert [isinstance(result, Lease) for result in results] == [True, True] + [False] * 3

    live(test)


def test_who_leaves_while_the_ledger_is_read_takes_it_from_nobody() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        leaving = asyncio.ensure_future(enter(limits, key, 30))
        staying = asyncio.ensure_future(enter(limits, key, 30))
        await ledger.asked()

        leaving.cancel()
        await ledger.answer()

        await staying
        assert leaving.cancelled()
        assert held_nusd(limits) == 30

    live(test)


def test_a_ledger_that_cannot_be_read_is_asked_again() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        first = asyncio.ensure_future(refused(enter(limits, key, 30)))
        await ledger.asked()
        ledger.questions.pop().set_exception(DatabaseUnavailable())
        assert await first is DatabaseUnavailable

        second = asyncio.ensure_future(refused(enter(limits, key, 30)))
        await ledger.answer(nusd=90)

        assert await second is BudgetExceeded
        assert held_nusd(limits) == 0

    live(test)


def test_a_ledger_that_changed_while_it_was_read_is_read_again() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        call = asyncio.ensure_future(refused(enter(limits, key, 30)))
        await ledger.asked()
        limits.spending.invalidate()
        await ledger.answer(nusd=0)
        await ledger.answer(nusd=90)

        assert await call is BudgetExceeded

    live(test)


def test_invalidating_forgets_no_hold() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        first = asyncio.ensure_future(enter(limits, key, 60))
        await ledger.answer()
        lease = await first

        limits.spending.invalidate()
        second = asyncio.ensure_future(refused(enter(limits, key, 50)))
        await ledger.answer()

        assert await second is BudgetExceeded
        charge(limits, 10, 1, lease)
        assert held_nusd(limits) == 0
        assert await refused(enter(limits, key, 91)) is BudgetExceeded
        (await enter(limits, key, 90)).end()

    live(test)


def test_charges_while_the_ledger_is_read_count_once() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        key = make_key(total_nusd=100)
        call = asyncio.ensure_future(refused(enter(limits, key, 30)))
        await ledger.asked()
        charge(limits, 40, record=7)
        charge(limits, 35, record=8)

        await ledger.answer(nusd=40, posted=7)

        assert await call is BudgetExceeded
        assert await refused(enter(limits, key, 25)) is None

    live(test)


def test_a_call_holds_of_all_its_budgets_or_of_none() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        lax = SpendingLimits(key_owner("key", "workspace"), total_nusd=1_000)
        tight = SpendingLimits(workspace_owner("workspace"), weekly_nusd=100)
        key = make_key(total_nusd=1_000)
        key = replace(key, limits=KeyLimits(CallLimits(), CallLimits(), (tight, lax)))
        first = asyncio.ensure_future(enter(limits, key, 60))
        await ledger.answer()
        await ledger.answer()
        lease = await first

        with pytest.raises(KeyLimitExceeded) as refusal:
            await enter(limits, key, 41)

        assert refusal.value.details["level"] == "organisation"
        assert held_nusd(limits) == 60
        lease.end()
        assert held_nusd(limits) == 0

    live(test)


def test_calls_of_other_keys_count_for_the_workspace_and_the_member() -> None:
    async def test(ledger: Ledger, limits: Limits) -> None:
        member = member_owner(7, uuid.uuid4())
        budgets = (SpendingLimits(member, total_nusd=100),)
        key = make_key()
        key = replace(key, limits=KeyLimits(CallLimits(), CallLimits(), budgets))
        call = asyncio.ensure_future(enter(limits, key, 30))
        await ledger.answer()
        (await call).end()

        charge(limits, 80, 1, member=member.id, key_id="another")

        assert await refused(enter(limits, key, 21)) is BudgetExceeded
        assert await refused(enter(limits, key, 20)) is None

    live(test)


def test_waiting_calls_are_told_when_the_server_stops() -> None:
    async def run() -> None:
        limits = Limits(MemoryCounters(Ledger().read))
        key = make_key(of_key=CallLimits(at_once=1))
        lease = await enter(limits, key)
        waiting = asyncio.ensure_future(refused(enter(limits, key)))
        await soon(lambda: limits.has_queue("key"))

        limits.close()

        assert (await waiting) is not None
        assert (await refused(enter(limits, key))) is not None
        lease.end()
        (await enter(limits, key)).end()

    asyncio.run(run())


def test_a_key_that_has_no_limits_any_more_lets_its_line_in() -> None:
    async def run() -> None:
        limits = Limits(MemoryCounters(Ledger().read))
        key = make_key(of_key=CallLimits(at_once=1))
        lease = await enter(limits, key)
        waiting = asyncio.ensure_future(enter(limits, key))
        await soon(lambda: limits.has_queue("key"))

        limits.follow(make_key(of_key=CallLimits()))

        (await waiting).end()
        lease.end()

    asyncio.run(run())
