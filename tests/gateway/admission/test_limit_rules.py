"""Rules of every level as calls meet them, in memory and in Redis (see conftest)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.admission.limit_rules import AboveLimit
from gateway.admission.request_caps import check_caps
from gateway.core.cost_bound import CostBound
from gateway.core.errors import (
    ConcurrencyLimited,
    LimitExceeded,
    RateLimited,
    RequestError,
)
from gateway.core.money import Price
from gateway.core.name_patterns import compile_names
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, LimitRule
from tests.gateway.admission.counting import (
    Serve,
    call_of,
    enter,
    make_key,
    make_rule,
    never,
    receipt,
    refused,
    soon,
)
from tests.gateway.admission.rule_clock import told

IN_WORKSPACES = ["workspace", "member", "key"]
TOLD = {
    "installation": "service",
    "model": "model",
    "workspace": "organisation",
    "member": "user",
    "key": "token",
}


def ruled(*rules: LimitRule, of_key: CallLimits | None = None) -> KeyRecord:
    return make_key(of_key, rules=rules)


@pytest.mark.parametrize("level", TOLD)
async def test_exactly_as_many_pass_as_a_rule_allows(serve: Serve, level: str) -> None:
    rule = make_rule(level, "requests", 5)
    outer = (rule,) if level not in IN_WORKSPACES else ()
    key = ruled(*(() if outer else (rule,)))

    async with serve() as (one, other):
        entering = [
            refused((one if n % 2 else other).acquire(call_of(key, rules=outer), never))
            for n in range(64)
        ]
        errors = await asyncio.gather(*entering)

    assert errors.count(None) == 5
    [error] = {str(error): error for error in errors if error is not None}.values()
    assert isinstance(error, RateLimited)
    assert error.retry_after_s is not None
    assert 3_500 < error.retry_after_s <= 3_660
    assert error.details == {
        "model_id": "model",
        "level": TOLD[level],
        "rule_id": level,
        "limit": {"metric": "requests", "period": "hour", "max": 5, "per_request": False},
        "current": 5,
        "requested": 1,
    }


@pytest.mark.parametrize("metric", ["tokens", "prompt_tokens", "completion_tokens"])
async def test_the_last_tokens_of_a_window_are_given_once(serve: Serve, metric: str) -> None:
    key = ruled(make_rule("key", metric, 100))
    reserved = {"tokens": (12, 8), "prompt_tokens": (20, 500), "completion_tokens": (500, 20)}

    async with serve() as (one, other):
        entering = [
            refused(enter(one if n % 2 else other, key, tokens=reserved[metric])) for n in range(64)
        ]
        errors = await asyncio.gather(*entering)

    assert errors.count(None) == 5
    assert {type(error) for error in errors} == {type(None), LimitExceeded}


async def test_what_was_not_used_is_for_others_and_what_was_used_beyond_counts(
    serve: Serve,
) -> None:
    key = ruled(make_rule("key", "tokens", 100), make_rule("key", "cost_micro_usd", 9_000, "cost"))

    async with serve() as (one, other):
        lease = await enter(one, key, 9_000, tokens=(10, 90))
        assert isinstance(await refused(enter(other, key, 0, tokens=(1, 0))), LimitExceeded)
        lease.settle(receipt(10, 20, 4_000))
        lease.end()

        error = await refused(enter(one, key, 0, tokens=(1, 70)))
        assert error is not None
        assert (error.details["current"], error.details["requested"]) == (30, 71)
        error = await refused(enter(one, key, 5_001))
        assert error is not None
        assert (error.details["current"], error.details["requested"]) == (4, 6)
        lease = await enter(one, key, 5_000, tokens=(0, 1))
        lease.settle(receipt(0, 90, 5_000))

        error = await refused(enter(other, key, tokens=(1, 0)))
        assert error is not None
        assert error.details["current"] == 120


@pytest.mark.parametrize("basis", ["zero_upstream", "zero_platform", "zero_empty"])
async def test_a_call_that_is_not_charged_gives_its_reservation_back(
    serve: Serve, basis: str
) -> None:
    key = ruled(make_rule("key", "tokens", 100), make_rule("key", "requests", 9, "requests"))

    async with serve() as (one, _):
        lease = await enter(one, key, tokens=(50, 50))
        lease.settle(receipt(50, 7, basis=basis))
        lease.end()
        lease = await enter(one, key, tokens=(50, 50))
        lease.withdraw()

        found = one.rates_of(key, ())
        requests, tokens = found.statuses()
        assert tokens is not None
        assert requests is not None
        assert (tokens.limit, tokens.remaining) == (100, 100)
        assert requests.remaining == 8


async def test_the_outermost_level_refuses_first_and_nothing_is_counted_then(serve: Serve) -> None:
    rules = [make_rule(level, "requests", 2 + n) for n, level in enumerate(IN_WORKSPACES)]
    outer = (make_rule("installation", "requests", 9), make_rule("model", "requests", 1))
    key = ruled(*rules)
    call = call_of(key, rules=outer)

    async with serve() as (one, other):
        await one.acquire(call, never)
        levels = []
        for _ in range(3):
            error = await refused(other.acquire(call, never))
            assert error is not None
            levels.append(error.details["level"])
        await enter(one, key)
        error = await refused(enter(one, key))

        assert levels == ["model"] * 3
        assert error is not None
        assert error.details["level"] == "organisation"
        found, _ = one.rates_of(key, ()).statuses()
        assert found is not None
        assert (found.limit, found.remaining) == (2, 0)


async def test_what_limits_a_key_beside_its_rules_counts_nothing_when_a_rule_refuses(
    serve: Serve,
) -> None:
    key = ruled(make_rule("workspace", "tokens", 10), of_key=CallLimits(1, 5, 3))

    async with serve() as (one, other):
        lease = await enter(one, key, tokens=(5, 5))
        for _ in range(9):
            assert isinstance(await refused(enter(other, key, tokens=(1, 0))), LimitExceeded)
        for _ in range(2):
            await enter(other, key)

        found, _ = other.rates_of(key, ()).statuses()
        assert found is not None
        assert found.remaining == 2
        lease.end()


@pytest.mark.parametrize("level", TOLD)
async def test_calls_wait_for_the_slots_of_a_rule(serve: Serve, level: str) -> None:
    rule = make_rule(level, "concurrent_requests", 1)
    outer = (rule,) if level not in IN_WORKSPACES else ()
    call = call_of(ruled(*(() if outer else (rule,))), rules=outer)

    async with serve(queue_s=0.05) as (one, other):
        lease = await one.acquire(call, never)
        error = await refused(other.acquire(call, never))
        assert isinstance(error, ConcurrencyLimited)
        assert (error.details["level"], error.details["rule_id"]) == (TOLD[level], level)
        lease.end()
    async with serve() as (one, other):
        lease = await one.acquire(call, never)
        waiting = asyncio.ensure_future(other.acquire(call, never))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        lease.end()
        (await waiting).end()


async def test_a_full_queue_of_a_rule_gives_back_what_was_reserved(serve: Serve) -> None:
    key = ruled(make_rule("key", "concurrent_requests", 1), make_rule("key", "tokens", 100, "t"))

    async with serve(max_queue=0) as (one, other):
        lease = await enter(one, key, tokens=(10, 0))
        assert isinstance(await refused(enter(other, key, tokens=(90, 0))), ConcurrencyLimited)
        lease.end()
        await told(one.counters)

        (await enter(other, key, tokens=(90, 0))).end()


async def test_callers_that_leave_at_any_moment_leave_nothing_reserved(serve: Serve) -> None:
    key = ruled(make_rule("key", "concurrent_requests", 3), make_rule("key", "tokens", 999, "t"))

    async with serve() as (one, other):
        for passes in range(20):
            calls = [
                asyncio.ensure_future(enter(one if n % 2 else other, key, tokens=(10, 0)))
                for n in range(6)
            ]
            for _ in range(passes % 10):
                await asyncio.sleep(0 if passes % 3 else 0.0005)
            for call in calls:
                call.cancel()
            for ended in await asyncio.gather(*calls, return_exceptions=True):
                if not isinstance(ended, BaseException):
                    ended.withdraw()
        for side in (one, other):  # what is given back to Redis has arrived there
            await told(side.counters)
        leases = [await enter(one, key, tokens=(333, 0)) for _ in range(3)]
        for lease in leases:
            lease.end()


async def test_one_row_counts_for_each_of_its_owners(serve: Serve) -> None:
    rule = make_rule("key", "requests", 1)
    keys = [make_key(key_id=name, rules=(replace(rule, owner=name),)) for name in ("a", "b")]

    async with serve() as (one, other):
        for key in keys:
            await enter(one, key)
            assert isinstance(await refused(enter(other, key)), RateLimited)


async def test_only_calls_to_the_models_of_a_rule_are_counted(serve: Serve) -> None:
    rule = replace(make_rule("key", "requests", 1), models=compile_names(("small-*",)))
    key = ruled(rule)

    async with serve() as (one, _):
        for _ in range(3):
            await one.acquire(call_of(key, model="large-1"), never)
        await one.acquire(call_of(key, model="small-1"), never)

        refusal = await refused(one.acquire(call_of(key, model="small-2"), never))
        assert isinstance(refusal, RateLimited)


async def test_a_changed_rule_goes_on_from_what_was_counted(serve: Serve) -> None:
    rule = make_rule("key", "tokens", 100)

    async with serve() as (one, _):
        await enter(one, ruled(rule), tokens=(60, 0))
        tight, wide = replace(rule, maximum=80), replace(rule, maximum=200)

        assert isinstance(await refused(enter(one, ruled(tight), tokens=(30, 0))), LimitExceeded)
        await enter(one, ruled(wide), tokens=(140, 0))


async def test_what_can_never_pass_is_told_so(serve: Serve) -> None:
    key = ruled(make_rule("workspace", "tokens", 100))

    async with serve() as (one, _):
        error = await refused(enter(one, key, tokens=(60, 41)))

    assert isinstance(error, AboveLimit)
    assert error.should_retry is False
    assert str(error) == (
        "The workspace is limited to 100 tokens per hour, and this call may use up to 101 tokens. "
        "Lower max_tokens."
    )


async def test_raising_the_slots_of_a_rule_lets_the_queue_in(serve: Serve) -> None:
    rule = make_rule("key", "concurrent_requests", 1)

    async with serve() as (one, _):
        lease = await enter(one, ruled(rule))
        waiting = asyncio.ensure_future(enter(one, ruled(rule)))
        await soon(lambda: one.queued > 0)

        one.follow(ruled(replace(rule, maximum=2)))

        (await waiting).end()
        lease.end()


def bound(prompt: int, limit: int, asked: int | None) -> CostBound:
    return CostBound(
        price=Price(1_000, 1_000, 2_000),
        prompt_pusd=prompt * 1_000,
        token_pusd=2_000,
        limit_tokens=limit,
        asked_tokens=asked,
        prompt_tokens=prompt,
    )


def cap(metric: str, maximum: int) -> LimitRule:
    return LimitRule(
        rule_id="r", level="key", owner="k", metric=metric, maximum=maximum, per_request=True
    )


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (cap("completion_tokens", 30), 30),
        (cap("tokens", 30), 20),
        # 10 nano-USD of prompt, 2 for each token.
        (cap("cost_micro_usd", 51), 20),
        (cap("prompt_tokens", 10), 100),
        (cap("completion_tokens", 100), 100),
    ],
)
def test_caps_limit_the_output_of_calls_that_set_no_limit(rule: LimitRule, left: int) -> None:
    capped = check_caps([rule], "model", bound(10, 100, None))

    assert capped.limit_tokens == left
    # The provider is told where it is less than it would give.
    assert capped.cap(left) == (left, left if left < 100 else None)


@pytest.mark.parametrize(
    ("rule", "requested", "param"),
    [
        (cap("completion_tokens", 30), 31, "max_tokens"),
        (cap("tokens", 30), 41, "max_tokens"),
        (cap("prompt_tokens", 9), 10, "messages"),
    ],
)
def test_what_a_caller_asks_for_beyond_a_cap_is_refused(
    rule: LimitRule, requested: int, param: str
) -> None:
    with pytest.raises(RequestError) as raised:
        check_caps([rule], "model", bound(10, 31, 31))

    assert raised.value.param == param
    assert raised.value.details["requested"] == requested
    assert raised.value.details["limit"] == {
        "metric": rule.metric,
        "period": None,
        "max": rule.maximum,
        "per_request": True,
    }


def test_a_prompt_beyond_a_cap_is_refused_whatever_the_output() -> None:
    with pytest.raises(RequestError):
        check_caps([cap("tokens", 10)], "model", bound(10, 100, None))


def test_keys_with_nothing_but_rules_have_limits() -> None:
    assert KeyLimits(CallLimits(), CallLimits(), None, (cap("tokens", 1),)) != KeyLimits(
        CallLimits(), CallLimits(), None
    )
