"""Budgets that several processes spend: never more than the limit, and no call is refused for what
another process has idle."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from accounts.models import ConfigChange, Workspace
from gateway.core.budget_owner import BudgetOwner, key_owner, workspace_owner
from gateway.core.calendar import calendar_at
from gateway.core.spent import Spent
from gateway.models import Allotment, ServingProcess, UsageRollup
from gateway.selectors.spending import spent_by, total_of
from gateway.snapshot.types import LimitRaise, SpendingLimits
from gateway.stores import budgets
from gateway.stores.budget_client import Ask, Settlement, settle_budgets
from keys.models import ApiKey
from keys.services import disown_key
from tests.money.budget_processes import (
    OWNERS,
    WANT_NUSD,
    Process,
    allotted_nusd,
    drawn_nusd,
    make_member,
    serving,
)
from tests.money.office import KEY_ID, make_rich
from tests.money.test_process_stores import declare_dead
from tests.support.waiting import async_wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace() -> Workspace:
    return make_rich(10_000_000)


@pytest.fixture(params=sorted(OWNERS))
def owner(request: pytest.FixtureRequest, workspace: Workspace) -> BudgetOwner:
    return OWNERS[request.param](workspace)


@pytest.fixture
def key(workspace: Workspace) -> BudgetOwner:
    return OWNERS["key"](workspace)


PERIODS: dict[str, Callable[[BudgetOwner, int], SpendingLimits]] = {
    "day": lambda owner, nusd: SpendingLimits(owner, daily_nusd=nusd),
    "week": lambda owner, nusd: SpendingLimits(owner, weekly_nusd=nusd),
    "month": lambda owner, nusd: SpendingLimits(owner, monthly_nusd=nusd),
    "total": lambda owner, nusd: SpendingLimits(owner, total_nusd=nusd),
}


@pytest.mark.parametrize("period", PERIODS)
def test_exactly_what_the_limit_covers_is_admitted(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner, period: str
) -> None:
    async def run() -> int:
        async with serving(tmp_path, workspace, 2) as processes:
            limits = PERIODS[period](owner, 11 * WANT_NUSD - 1)
            calls = [processes[n % 2].enter(limits) for n in range(64)]
            return sum(await asyncio.gather(*calls))

    assert asyncio.run(run()) == 10


def test_a_call_gets_a_part_of_all_its_budgets_or_of_none(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner
) -> None:
    """Of the workspace's money two processes want all: the keys that did not get it keep theirs."""
    of_workspace = SpendingLimits(workspace_owner(workspace.pk), total_nusd=100)
    own = [SpendingLimits(key_owner(uuid.uuid4(), workspace.pk), total_nusd=60) for _ in range(2)]

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            entered = await asyncio.gather(
                one.enter(of_workspace, own[0], want_nusd=60),
                other.enter(of_workspace, own[1], want_nusd=60),
            )
            assert sorted(entered) == [False, True]
            refused = own[entered.index(False)]
            assert await one.enter(of_workspace, refused, want_nusd=40)
            assert not await other.enter(of_workspace, refused, want_nusd=1)
            assert await other.enter(refused, want_nusd=20)

    asyncio.run(run())


def test_each_of_two_calls_has_what_the_other_needs_only_if_it_runs(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner
) -> None:
    """Both budgets cover one call: one of the two is let in, however they meet."""
    limits = (
        SpendingLimits(workspace_owner(workspace.pk), daily_nusd=10),
        SpendingLimits(key, total_nusd=10),
    )

    async def run() -> list[int]:
        async with serving(tmp_path, workspace, 2) as processes:
            rounds = []
            for _ in range(5):
                calls = [process.enter(*limits, want_nusd=10) for process in processes]
                entered = await asyncio.gather(*calls)
                rounds.append(sum(entered))
                processes[entered.index(True)].budgets.release(limits, 10)
            return rounds

    assert asyncio.run(run()) == [1] * 5


def test_what_another_process_has_idle_comes_back_before_a_call_is_refused(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner
) -> None:
    limits = SpendingLimits(owner, daily_nusd=100)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, want_nusd=10)  # and has more than that
            assert await other.enter(limits, want_nusd=90)
            assert not await other.enter(limits, want_nusd=1)
            assert not await one.enter(limits, want_nusd=1)

            await one.leave(limits, charge_nusd=4, want_nusd=10)

            assert await other.enter(limits, want_nusd=6)
            assert not await one.enter(limits, want_nusd=1)

    asyncio.run(run())


def test_spending_and_what_is_drawn_are_never_more_than_the_limit(
    tmp_path: Path, workspace: Workspace
) -> None:
    """All three budgets of the calls, of which each is the tightest for a while."""
    limit_nusd = 60 * WANT_NUSD
    member = make_member(workspace)
    budgets = (
        SpendingLimits(workspace_owner(workspace.pk), weekly_nusd=limit_nusd),
        SpendingLimits(member, monthly_nusd=limit_nusd, timezone="Asia/Kathmandu"),
        SpendingLimits(
            key_owner(KEY_ID, workspace.pk), daily_nusd=limit_nusd, total_nusd=limit_nusd
        ),
    )

    async def call(process: Process, number: int) -> int:
        if not await process.enter(*budgets):
            return 0
        await asyncio.sleep(0.001 * (number % 7))
        charge_nusd = number % (WANT_NUSD + 1)
        await process.leave(*budgets, charge_nusd=charge_nusd)
        return charge_nusd

    async def run() -> int:
        async with serving(tmp_path, workspace, 3) as processes:
            charged = 0
            for round_ in range(6):
                calls = [call(processes[n % 3], n + round_) for n in range(48)]
                charged += sum(await asyncio.gather(*calls))
            return charged

    charged_nusd = asyncio.run(run())

    assert limit_nusd - WANT_NUSD < charged_nusd <= limit_nusd
    assert total_of(uuid.UUID(KEY_ID)) == charged_nusd
    assert drawn_nusd() == 0
    assert not Allotment.objects.exists()


def test_one_process_asks_the_database_once(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[object] = []

    def counted(process_id: uuid.UUID, ask: Ask, at: float) -> Settlement:
        questions.append(ask)
        return settle_budgets(process_id, ask, at)

    monkeypatch.setattr(budgets, "settle_budgets", counted)
    limits = SpendingLimits(owner, daily_nusd=1_000_000)

    async def run() -> None:
        async with serving(tmp_path, workspace, 1) as (process,):
            for _ in range(200):
                assert await process.enter(limits)
                await process.leave(limits, charge_nusd=5)

    asyncio.run(run())

    assert len(questions) == 1


def test_the_part_of_a_dead_process_comes_back(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner
) -> None:
    limits = SpendingLimits(owner, daily_nusd=100)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, want_nusd=60)
            assert not await other.enter(limits, want_nusd=60)

            await asyncio.to_thread(declare_dead, one.stores.process_id)

            assert await other.enter(limits, want_nusd=60)

    asyncio.run(run())


def test_changed_limits_are_followed_at_once(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner
) -> None:
    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(SpendingLimits(key, daily_nusd=100), want_nusd=10)
            tight = SpendingLimits(key, daily_nusd=20)
            assert not await one.enter(tight, want_nusd=11)
            assert await other.enter(tight, want_nusd=10)
            assert await one.enter(SpendingLimits(key, daily_nusd=30), want_nusd=10)

    asyncio.run(run())


def test_what_was_drawn_under_a_higher_limit_is_not_spent_after_it(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner
) -> None:
    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            lax, tight = SpendingLimits(key, daily_nusd=100), SpendingLimits(key, daily_nusd=20)
            assert await one.enter(lax, want_nusd=90)
            assert not await one.enter(tight, want_nusd=1)

            one.budgets.release((lax,), 90)

            assert not await one.enter(tight, want_nusd=21)
            assert await one.enter(tight, want_nusd=15)
            assert not await other.enter(tight, want_nusd=6)
            assert await other.enter(tight, want_nusd=5)

    asyncio.run(run())


def test_a_raise_is_over_at_its_moment_whoever_has_drawn_under_it(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, later = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + later[0])
    raised = LimitRaise("total", 80, now() + 3_600)
    limits = SpendingLimits(key, total_nusd=20, raises=(raised,))

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, want_nusd=50)
            assert await other.enter(limits, want_nusd=50)
            assert not await one.enter(limits, want_nusd=1)
            other.budgets.release((limits,), 50)

            later[0] = 3_601

            assert not await other.enter(limits, want_nusd=1)
            one.budgets.release((limits,), 50)
            assert not await one.enter(limits, want_nusd=21)
            assert await one.enter(limits, want_nusd=12)
            assert not await other.enter(limits, want_nusd=9)
            assert await other.enter(limits, want_nusd=8)

    asyncio.run(run())


def test_a_charge_beyond_its_hold_is_missing_from_the_budget(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner
) -> None:
    limits = SpendingLimits(owner, daily_nusd=100)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            assert await one.enter(limits, want_nusd=10)
            await one.leave(limits, charge_nusd=40, want_nusd=10)
            assert await other.enter(limits, want_nusd=60)
            assert not await one.enter(limits, want_nusd=1)

    asyncio.run(run())


def test_a_call_that_leaves_takes_nothing_along(
    tmp_path: Path, workspace: Workspace, key: BudgetOwner
) -> None:
    limits = SpendingLimits(key, daily_nusd=100)

    async def run() -> None:
        async with serving(tmp_path, workspace, 2) as (one, other):
            leaving = [asyncio.ensure_future(one.enter(limits, want_nusd=60)) for _ in range(3)]
            for passes, call in enumerate(leaving):
                await asyncio.sleep(0.002 * passes)
                call.cancel()
            for ended in await asyncio.gather(*leaving, return_exceptions=True):
                if ended is True:
                    one.budgets.release((limits,), 60)

            assert await other.enter(limits, want_nusd=100)

    asyncio.run(run())


def test_a_stopped_process_leaves_nothing_drawn(
    tmp_path: Path, workspace: Workspace, owner: BudgetOwner
) -> None:
    limits = SpendingLimits(owner, total_nusd=100)

    async def run() -> None:
        async with serving(tmp_path, workspace, 1) as (process,):
            assert await process.enter(limits, want_nusd=10)
            await process.leave(limits, charge_nusd=3, want_nusd=10)

            async def has_posted() -> bool:
                return bool(await asyncio.to_thread(total_of, uuid.UUID(KEY_ID)))

            await async_wait_until(has_posted, what="the charge")
            held = await asyncio.to_thread(allotted_nusd)
            assert held == await asyncio.to_thread(drawn_nusd) == 97

    asyncio.run(run())

    assert drawn_nusd() == 0
    assert not ServingProcess.objects.filter(state=ServingProcess.State.ALIVE).exists()


def test_what_a_transferred_key_spent_is_the_members_no_more(workspace: Workspace) -> None:
    member = make_member(workspace)
    at = time.time()
    UsageRollup.objects.create(
        workspace_id=workspace.pk,
        key_id=KEY_ID,
        starts_at=calendar_at("UTC", at).day.starts_at,
        model="m",
        status="ok",
        calls=1,
        prompt_tokens=0,
        completion_tokens=0,
        charge_nusd=5,
        absorbed_nusd=0,
    )
    assert spent_by(member, at) == Spent(5, 5, 5, 5)

    disown_key(ApiKey.objects.get(), actor="tests")

    assert spent_by(member, at) == Spent()
    assert spent_by(workspace_owner(workspace.pk), at).total_nusd == 5
    told = ConfigChange.objects.filter(kind=ConfigChange.Kind.BUDGET)
    assert told.get().ref == uuid.UUID(member.id).hex
