"""What every way of counting limits does alike, in memory and in Redis.

There are two callers' sides, `one` and `other`: two processes that share a Redis, or one process.
"""

from __future__ import annotations

import asyncio

import pytest

from gateway.admission.limits import Limits
from gateway.core.errors import ConcurrencyLimited, RateLimited, ServerStopping
from gateway.snapshot.types import CallLimits, KeyRecord
from tests.gateway.admission.counting import (
    Serve,
    call_of,
    enter,
    make_key,
    never,
    refused,
    remaining,
    soon,
)
from tests.gateway.admission.rule_clock import told


def limited(holder: str, limits: CallLimits) -> KeyRecord:
    return make_key(limits) if holder == "of_key" else make_key(None, limits)


@pytest.mark.parametrize("holder", ["of_key", "of_workspace"])
async def test_exactly_the_burst_passes_at_once(serve: Serve, holder: str) -> None:
    key = limited(holder, CallLimits(1, 5))

    async with serve() as (one, other):
        entering = [refused(enter(one if n % 2 else other, key)) for n in range(64)]
        errors = await asyncio.gather(*entering)

    assert errors.count(None) == 5
    assert {type(error) for error in errors} == {type(None), RateLimited}


async def test_the_level_that_refuses_is_told_and_the_other_one_counts_nothing(
    serve: Serve,
) -> None:
    tight = make_key(CallLimits(1, 1), CallLimits(1, 9), key_id="tight")
    lax = make_key(CallLimits(1, 9), CallLimits(1, 9), key_id="lax")

    async with serve() as (one, other):
        await enter(one, tight)
        error = await refused(enter(other, tight))
        await enter(one, lax)

        assert error is not None
        assert error.details is not None
        assert error.details["level"] == "token"
        # A minute for one request, less what has passed.
        assert error.retry_after_s is not None
        assert 0 < error.retry_after_s <= 60
        assert remaining(one, lax) == 7


async def test_the_workspace_is_asked_before_the_key(serve: Serve) -> None:
    key = make_key(CallLimits(1, 1), CallLimits(1, 1))

    async with serve() as (one, other):
        await enter(one, key)
        error = await refused(enter(other, key))

    assert error is not None
    assert error.details is not None
    assert error.details["level"] == "organisation"


async def test_headers_say_what_is_left(serve: Serve) -> None:
    key = make_key(CallLimits(1, 4), CallLimits(1, 9))

    async with serve() as (one, other):
        for left in (3, 2, 1, 0):
            limits = one if left % 2 else other
            await enter(limits, key)
            assert remaining(limits, key) == left


@pytest.mark.parametrize("holder", ["of_key", "of_workspace"])
async def test_exactly_as_many_run_as_may(serve: Serve, holder: str) -> None:
    key = limited(holder, CallLimits(at_once=3))

    async with serve(queue_s=0.05) as (one, other):
        entering = [enter(one if n % 2 else other, key) for n in range(64)]
        ended = await asyncio.gather(*entering, return_exceptions=True)
        refusals = [error for error in ended if isinstance(error, BaseException)]

        assert len(refusals) == 61
        assert {type(error) for error in refusals} == {ConcurrencyLimited}


async def test_a_slot_given_back_goes_to_who_waits(serve: Serve) -> None:
    key = make_key(CallLimits(at_once=1))

    async with serve() as (one, other):
        lease = await enter(one, key)
        for _ in range(5):
            waiting = asyncio.ensure_future(enter(other, key))
            await soon(lambda: other.has_queue("key"))
            lease.end()
            lease = await waiting
            assert lease.queued_us > 0
        lease.end()


async def test_who_came_first_gets_the_slot_first(serve: Serve) -> None:
    key = make_key(CallLimits(at_once=1))
    order: list[int] = []

    async def call(limits: Limits, number: int) -> None:
        lease = await enter(limits, key)
        order.append(number)
        await asyncio.sleep(0)
        lease.end()

    async with serve() as (one, other):
        lease = await enter(one, key)
        calls = []
        for number in range(8):
            limits = one if number % 2 else other
            calls.append(asyncio.ensure_future(call(limits, number)))
            await asyncio.sleep(0.02)  # until it waits
        lease.end()
        await asyncio.gather(*calls)

    # Within each process in order; between two processes whose first calls wait, too.
    assert [n for n in order if n % 2] == [1, 3, 5, 7]
    assert [n for n in order if not n % 2] == [0, 2, 4, 6]
    assert order[0] == 0


async def test_a_key_with_many_calls_in_every_queue_leaves_turns_to_others(serve: Serve) -> None:
    of_workspace = CallLimits(at_once=1)
    flood, neighbour = (make_key(None, of_workspace, name) for name in ("flood", "neighbour"))
    order: list[str] = []

    async def call(limits: Limits, key: KeyRecord) -> None:
        lease = await enter(limits, key)
        order.append(key.key_id)
        await asyncio.sleep(0)
        lease.end()

    async with serve() as (one, other):
        lease = await enter(one, flood)
        calls = []
        for limits, key, count in ((one, flood, 6), (other, flood, 6), (other, neighbour, 1)):
            calls += [asyncio.ensure_future(call(limits, key)) for _ in range(count)]
            await asyncio.sleep(0.02)  # until they wait
        lease.end()
        await asyncio.gather(*calls)

    # Each process has its turn, and in it each key: before the neighbour is at most one call of
    # the other key in its own process, and as many turns of the other process.
    assert order.index("neighbour") <= 3


@pytest.mark.parametrize("level", ["of_key", "of_workspace"])
async def test_who_finds_no_slot_gives_all_back(serve: Serve, level: str) -> None:
    tight, lax = CallLimits(1, 5, 1), CallLimits(1, 5, 9)
    key = make_key(tight, lax) if level == "of_key" else make_key(lax, tight)

    async with serve(queue_s=0.001) as (one, other):
        lease = await enter(one, key)
        assert isinstance(await refused(enter(other, key)), ConcurrencyLimited)
        lease.end()
        (await enter(other, key)).end()

        assert remaining(other, key) == 3


async def test_a_full_queue_refuses_at_once_and_takes_nothing(serve: Serve) -> None:
    key = make_key(CallLimits(1, 9, 1))

    async with serve(max_queue=0) as (one, other):
        lease = await enter(one, key)
        error = await refused(enter(other, key))
        lease.end()
        await told(one.counters)
        (await enter(other, key)).end()

        assert isinstance(error, ConcurrencyLimited)
        assert "queue is full" in str(error)
        assert remaining(other, key) == 7


async def test_a_caller_that_leaves_the_queue_leaves_nothing_behind(serve: Serve) -> None:
    key = make_key(CallLimits(1, 9, 1))

    async with serve() as (one, other):
        lease = await enter(one, key)
        leaving = asyncio.ensure_future(enter(other, key))
        await soon(lambda: other.has_queue("key"))
        staying = asyncio.ensure_future(enter(one, key))
        await asyncio.sleep(0.02)
        leaving.cancel()
        lease.end()

        (await staying).end()
        (await enter(other, key)).end()
        assert remaining(other, key) == 6


async def test_callers_that_leave_at_any_moment_leave_nothing_behind(serve: Serve) -> None:
    key = make_key(CallLimits(1, 1_000, 4), CallLimits(1, 1_000, 6))

    async with serve() as (one, other):
        for passes in range(30):
            calls = [asyncio.ensure_future(enter(one if n % 2 else other, key)) for n in range(8)]
            for _ in range(passes % 10):
                await asyncio.sleep(0 if passes % 3 else 0.0005)
            for call in calls:
                call.cancel()
            for ended in await asyncio.gather(*calls, return_exceptions=True):
                if not isinstance(ended, BaseException):
                    ended.withdraw()
        leases = [await enter(one if n % 2 else other, key) for n in range(4)]

        assert remaining(one, key) == 1_000 - 4  # the last that entered
        for lease in leases:
            lease.end()


async def test_a_withdrawn_call_was_never_counted(serve: Serve) -> None:
    key = make_key(CallLimits(1, 5, 1))

    async with serve() as (one, _):
        (await enter(one, key)).withdraw()

        assert remaining(one, key) == 5
        (await enter(one, key)).end()
        assert remaining(one, key) == 4


async def test_changed_limits_forget_nothing(serve: Serve) -> None:
    async with serve() as (one, _):
        for _ in range(3):
            await enter(one, make_key(CallLimits(1, 3)))
        assert isinstance(await refused(enter(one, make_key(CallLimits(1, 3)))), RateLimited)

        await enter(one, make_key(CallLimits(1, 4)))
        assert isinstance(await refused(enter(one, make_key(CallLimits(1, 4)))), RateLimited)


async def test_a_raised_limit_lets_the_queue_in(serve: Serve) -> None:
    async with serve() as (one, _):
        lease = await enter(one, make_key(CallLimits(at_once=1)))
        waiting = asyncio.ensure_future(enter(one, make_key(CallLimits(at_once=1))))
        await soon(lambda: one.has_queue("key"))

        one.follow(make_key(CallLimits(at_once=2)))

        (await waiting).end()
        lease.end()


async def test_asking_takes_nothing(serve: Serve) -> None:
    key = make_key(CallLimits(1, 1, 1))

    async with serve() as (one, _):
        assert (await one.ask(call_of(key), wants_slots=True)).refusal() is None
        await enter(one, key)

        outlook = await one.ask(call_of(key), wants_slots=True)

    assert isinstance(outlook.refusal(), RateLimited)


async def test_asking_says_that_a_call_would_wait(serve: Serve) -> None:
    key = make_key(CallLimits(at_once=1))

    async with serve() as (one, _):
        assert not (await one.ask(call_of(key), wants_slots=True)).waits
        lease = await enter(one, key)

        assert (await one.ask(call_of(key), wants_slots=True)).waits
        lease.end()


async def test_waiting_calls_are_told_when_the_server_stops(serve: Serve) -> None:
    key = make_key(CallLimits(at_once=1))

    async with serve() as (one, _):
        lease = await enter(one, key)
        waiting = asyncio.ensure_future(refused(enter(one, key)))
        await soon(lambda: one.has_queue("key"))

        one.close()

        assert isinstance(await waiting, ServerStopping)
        lease.end()


async def test_keys_without_limits_are_not_counted(serve: Serve) -> None:
    key = make_key()

    async with serve() as (one, _):
        (await enter(one, key)).end()

        assert one.rates_of(key, ()).statuses() == (None, None)


async def test_a_hang_up_in_the_queue_ends_the_waiting(serve: Serve) -> None:
    key = make_key(CallLimits(1, 9, 1))
    hung_up = asyncio.Event()

    async def hang_up() -> None:
        await hung_up.wait()

    async with serve() as (one, other):
        lease = await enter(one, key)
        waiting = asyncio.ensure_future(refused(other.acquire(call_of(key), hang_up)))
        await soon(lambda: other.has_queue("key"))
        hung_up.set()

        assert await waiting is not None
        lease.end()
        lease = await one.acquire(call_of(key), never)
        assert remaining(one, key) == 7
        lease.end()
