"""Rules counted in Redis when Redis goes away, and back; and what they ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gateway.admission.limits import Limits
from gateway.core.errors import LimitExceeded, RateLimited
from gateway.snapshot.types import KeyRecord, LimitRule
from gateway.stores.redis_rates import Share
from tests.gateway.admission.counting import (
    enter,
    make_key,
    make_rule,
    receipt,
    redis_counters,
    refused,
    serving,
    soon,
)
from tests.support.redis import RedisServer, running_redis

SHORT_S = 0.2  # how long Redis is waited for where it does not answer
ALGORITHMS = ["rolling", "fixed_window", "sliding_window", "token_bucket"]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


def ruled(
    metric: str, maximum: int, algorithm: str = "rolling", period: str = "month"
) -> KeyRecord:
    """Return a key with a rule of its own."""
    rule = make_rule("key", metric, maximum, f"{metric}-{algorithm}")
    return make_key(rules=(replace(rule, algorithm=algorithm, period=period),))


async def passed(limits: Limits, key: KeyRecord, calls: int, tokens: int = 1) -> int:
    """Return how many of so many calls, one after the other, were let in."""
    errors = [await refused(enter(limits, key, tokens=(tokens, 0))) for _ in range(calls)]
    assert {type(error) for error in errors} <= {type(None), RateLimited, LimitExceeded}
    return errors.count(None)


@pytest.mark.parametrize("how", ["stop", "pause"])
async def test_without_redis_each_process_has_its_share_and_no_call_fails(
    server: RedisServer, how: str
) -> None:
    shares = [Share(3, rank) for rank in range(3)]
    counters = [
        redis_counters(server, f"p{share.rank}", share=share, wait_s=SHORT_S) for share in shares
    ]
    async with serving(counters) as processes:
        getattr(server, how)()

        for algorithm in ALGORITHMS:
            key = ruled("tokens", 100, algorithm)
            assert [await passed(each, key, 9, tokens=11) for each in processes] == [3, 3, 3]
        server.resume()


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_shares_are_never_more_than_the_limit_together(
    server: RedisServer, limit: int
) -> None:
    counters = [redis_counters(server, f"p{n}", share=Share(3, n)) for n in range(3)]
    server.stop()
    async with serving(counters) as processes:
        found = [await passed(each, ruled("requests", limit), 9) for each in processes]

    assert sum(found) == limit if limit <= 3 else limit // 3 * 3


async def test_what_was_used_before_redis_went_is_not_forgotten(server: RedisServer) -> None:
    keys = [ruled("requests", 10, algorithm) for algorithm in ALGORITHMS]
    async with serving([redis_counters(server, "one", wait_s=SHORT_S)]) as (limits,):
        assert [await passed(limits, key, 6) for key in keys] == [6] * 4
        server.stop()

        # Half of the four that were left.
        assert [await passed(limits, key, 10) for key in keys] == [2] * 4


@pytest.mark.parametrize("is_emptied", [True, False])
async def test_redis_that_returns_learns_what_it_has_missed(
    server: RedisServer, is_emptied: bool
) -> None:
    keys = [ruled("tokens", 100, algorithm) for algorithm in ALGORITHMS]
    counters = [redis_counters(server, "one", wait_s=SHORT_S), redis_counters(server, "other")]
    async with serving(counters) as (one, other):
        leases = [await enter(one, key, tokens=(40, 0)) for key in keys]
        if is_emptied:
            server.stop()
        else:
            counters[0].link.fail("a test")
        for key, lease in zip(keys, leases, strict=True):
            await enter(one, key, tokens=(20, 0))
            # For two processes: 40 + 2 * 20 of 100 are used.
            assert isinstance(await refused(enter(one, key, tokens=(11, 0))), LimitExceeded)
            lease.settle(receipt(10, 0))
        if is_emptied:
            server.start()
        await soon(lambda: all(each.state.is_up for each in counters))

        # 10 were used before Redis went, 20 while it was away.
        assert [await passed(other, key, 9, tokens=10) for key in keys] == [7] * 4


async def test_an_emptied_redis_learns_what_is_used_from_the_processes(
    server: RedisServer,
) -> None:
    async with serving([redis_counters(server, "one")]) as (limits,):
        for algorithm in ALGORITHMS:
            key = ruled("tokens", 100, algorithm)
            assert await passed(limits, key, 1, tokens=60) == 1
            server.client.flushall()

            assert await passed(limits, key, 9, tokens=20) == 2


async def test_a_key_of_another_kind_is_counted_in_shares(server: RedisServer) -> None:
    counters = redis_counters(server, "one")
    server.client.set("tollhouse:{rules}:rule:requests-rolling:o", "not a hash")
    async with serving([counters]) as (limits,):
        assert await passed(limits, ruled("requests", 4), 4) == 2
        assert counters.state.is_up


async def test_nothing_is_left_in_redis_when_nothing_is_used(server: RedisServer) -> None:
    async with serving([redis_counters(server, "one")]) as (limits,):
        for algorithm in ALGORITHMS:
            (await enter(limits, ruled("requests", 9, algorithm, "second"))).end()
        assert len(server.client.keys("tollhouse:{rules}*")) == 4

        await soon(lambda: not server.client.keys("*"))


async def test_a_call_asks_redis_once_and_tells_it_once_whatever_its_rules(
    server: RedisServer,
) -> None:
    metrics = ["requests", "tokens", "prompt_tokens", "completion_tokens", "cost_micro_usd"]
    rules: tuple[LimitRule, ...] = tuple(make_rule("key", name, 10**9, name) for name in metrics)
    key = make_key(rules=rules)
    async with serving([redis_counters(server, "one")]) as (limits,):
        before = asked(server)
        for _ in range(5):
            lease = await enter(limits, key, 1_000, tokens=(10, 10))
            lease.settle(receipt(9, 9, 900))
            lease.end()
        (await enter(limits, key)).end()  # what was told has arrived

        assert asked(server) - before == 5 * 2 + 1


def asked(server: RedisServer) -> int:
    found = server.client.info("commandstats").get("cmdstat_evalsha", {"calls": 0})
    return int(found["calls"])
