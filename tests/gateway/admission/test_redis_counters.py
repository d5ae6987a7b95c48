"""Limits counted in Redis when Redis or a process goes away, and back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator

import pytest
import redis
from msgspec.structs import replace

from gateway.admission.limits import Limits
from gateway.core.errors import ConcurrencyLimited, RateLimited
from gateway.core.redis_address import RedisAddress, read_redis_url
from gateway.snapshot.types import CallLimits
from gateway.stores.redis_rates import Share
from gateway.stores.redis_scripts import LEASE_US
from tests.gateway.admission.counting import (
    enter,
    make_key,
    redis_counters,
    refused,
    remaining,
    serving,
    soon,
)
from tests.support.redis import RedisServer, running_redis

SHORT_S = 0.2  # how long Redis is waited for where it does not answer


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


async def enter_all(limits: Limits, calls: int, **of_key: int) -> list[type]:
    """Enter so many calls, one after the other; return what each ended with."""
    key = make_key(CallLimits(**of_key))
    return [type(await refused(enter(limits, key))) for _ in range(calls)]


@pytest.mark.parametrize("how", ["stop", "pause"])
async def test_without_redis_each_process_has_its_share_and_no_call_fails(
    server: RedisServer, how: str
) -> None:
    shares = [Share(3, rank) for rank in range(3)]
    counters = [
        redis_counters(server, f"p{share.rank}", share=share, wait_s=SHORT_S) for share in shares
    ]
    async with serving(counters, queue_s=0.01) as processes:
        getattr(server, how)()

        rates = [await enter_all(each, 20, per_minute=1, burst=10) for each in processes]
        slots = [await enter_all(each, 20, at_once=10) for each in processes]

        assert [errors.count(type(None)) for errors in rates] == [3, 3, 3]
        assert [errors.count(type(None)) for errors in slots] == [4, 3, 3]
        assert {error for errors in rates for error in errors} == {type(None), RateLimited}
        assert {error for errors in slots for error in errors} == {type(None), ConcurrencyLimited}
        server.resume()


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_shares_are_never_more_than_the_limit_together(
    server: RedisServer, limit: int
) -> None:
    counters = [redis_counters(server, f"p{n}", share=Share(3, n)) for n in range(3)]
    server.stop()
    async with serving(counters, queue_s=0.01) as processes:
        rates = [await enter_all(each, 10, per_minute=1, burst=limit) for each in processes]
        slots = [await enter_all(each, 10, at_once=limit) for each in processes]

    passed = sum(errors.count(type(None)) for errors in rates)
    assert passed == limit if limit <= 3 else limit // 3 * 3
    assert sum(errors.count(type(None)) for errors in slots) == limit


async def test_what_was_used_before_redis_went_is_not_forgotten(server: RedisServer) -> None:
    async with serving([redis_counters(server, "one", wait_s=SHORT_S)]) as (limits,):
        await enter_all(limits, 6, per_minute=1, burst=10)
        server.stop()

        errors = await enter_all(limits, 10, per_minute=1, burst=10)

    assert errors.count(type(None)) == 2  # half of the four that were left


async def test_redis_that_returns_learns_what_it_has_missed(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    key = make_key(CallLimits(1, 10, 20))
    counters = [redis_counters(server, "one", wait_s=SHORT_S), redis_counters(server, "other")]
    async with serving(counters, queue_s=0.01) as (one, other):
        for _ in range(2):
            await enter(one, key)
        server.stop()
        for _ in range(4):
            await refused(enter(one, key))
        server.start()
        await soon(lambda: all(each.state.is_up for each in counters))

        errors = [await refused(enter(other, key)) for _ in range(12)]

        # Two were made before, four in the half that one process had: of ten, less those.
        assert errors.count(None) == 10 - 2 - 4
        assert counters[0].state.outages == 1
    told = [line for line in caplog.messages if line.startswith("Redis at")]
    assert len([line for line in told if "is away" in line]) == 2  # once for each process
    assert len([line for line in told if "answers again" in line]) == 2


async def test_an_emptied_redis_learns_what_is_used_from_the_processes(
    server: RedisServer,
) -> None:
    key = make_key(CallLimits(1, 5, 3))
    async with serving([redis_counters(server, "one")], queue_s=0.01) as (limits,):
        for _ in range(2):
            await enter(limits, key)
        server.client.flushall()

        passed = [await refused(enter(limits, key)) for _ in range(3)]

        assert [type(error) for error in passed] == [
            type(None),
            ConcurrencyLimited,
            ConcurrencyLimited,
        ]
        assert remaining(limits, key) == 2


async def test_scripts_that_redis_has_forgotten_are_brought_again(server: RedisServer) -> None:
    key = make_key(CallLimits(1, 50, 50))
    async with serving([redis_counters(server, "one")]) as (limits,):
        await enter(limits, key)
        server.client.script_flush()

        await asyncio.gather(*(enter(limits, key) for _ in range(9)))

        assert remaining(limits, key) == 40


async def test_a_key_of_another_kind_is_counted_in_shares(server: RedisServer) -> None:
    key = make_key(CallLimits(1, 4))
    counters = redis_counters(server, "one")
    server.client.set("tollhouse:{workspace}:rate:key", "not a hash")
    async with serving([counters]) as (limits,):
        errors = [await refused(enter(limits, key)) for _ in range(4)]

        assert errors.count(None) == 2
        assert counters.state.is_up


async def test_slots_of_a_process_that_died_lapse_and_those_of_one_that_lives_do_not(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(CallLimits(at_once=2))
    monkeypatch.setattr("gateway.stores.redis_counters.LOOK_EVERY_S", 0.05)
    monkeypatch.setattr("gateway.stores.redis_counters.RENEW_EVERY_S", 0.05)
    living, dying = redis_counters(server, "living"), redis_counters(server, "dying")
    async with serving([living], queue_s=0.01) as (one,):
        async with serving([dying]) as (other,):
            await enter(one, key)
            await enter(other, key)
            dying.link.fail("killed")  # its slots stay
        slots = "tollhouse:{workspace}:slots:key"
        age(server, slots, LEASE_US)

        await soon(lambda: expiry_of(server, slots, "living") > server_us(server))
        await enter(one, key)

        assert isinstance(await refused(enter(one, key)), ConcurrencyLimited)


async def test_a_waiting_process_that_died_holds_nobody_up(server: RedisServer) -> None:
    key = make_key(CallLimits(at_once=1))
    async with serving([redis_counters(server, "one")]) as (limits,):
        waiting = f"{server_us(server) - 10**6} {server_us(server) + 10**6}"
        server.client.hset("tollhouse:{workspace}:waiters:key", "dead", waiting)

        (await enter(limits, key)).end()

        assert server.client.hgetall("tollhouse:{workspace}:waiters:key") == {}


async def test_nothing_is_left_in_redis_when_nothing_is_used(server: RedisServer) -> None:
    key = make_key(CallLimits(1_000_000, 5, 1), CallLimits(at_once=2))
    async with serving([redis_counters(server, "one")]) as (limits,):
        calls = [asyncio.ensure_future(enter(limits, key)) for _ in range(3)]
        for call in calls:
            (await call).end()

        await soon(lambda: not server.client.keys("*"))


async def test_a_password_and_a_database_are_used(server: RedisServer) -> None:
    server.client.config_set("requirepass", "s3cret")
    url = f"unix://:s3cret@{server.socket}"
    counters = redis_counters(server, "one")
    counters.link._address = replace(read_redis_url(url), database=3)
    async with serving([counters]) as (limits,):
        await enter(limits, make_key(CallLimits(1, 5)))

        assert counters.state.is_up
    client = redis.Redis(unix_socket_path=str(server.socket), password="s3cret", db=3)
    assert client.keys("*")
    client.close()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost", RedisAddress(host="localhost")),
        (
            "redis://u:p%40ss@[::1]:7000/2",
            RedisAddress(host="::1", port=7000, username="u", password="p@ss", database=2),
        ),
        (
            "rediss://:pw@redis.example",
            RedisAddress(host="redis.example", password="pw", uses_tls=True),
        ),
        ("unix:///run/redis.sock", RedisAddress(path="/run/redis.sock")),
    ],
)
def test_addresses(url: str, address: RedisAddress) -> None:
    assert read_redis_url(url) == address
    assert "pw" not in str(address)


@pytest.mark.parametrize(
    "url",
    ["localhost:6379", "http://x", "redis://:63", "redis://h:port", "redis://h/one", "unix:////"],
)
def test_what_is_no_address_is_told_without_being_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="must") as error:
        read_redis_url(url)

    assert url not in str(error.value)


def server_us(server: RedisServer) -> int:
    seconds, micros = server.client.time()
    return int(seconds) * 10**6 + int(micros)


def expiry_of(server: RedisServer, slots: str, process: str) -> int:
    kept = server.client.hget(slots, process)
    assert isinstance(kept, bytes)
    return int(kept.split()[1])


def age(server: RedisServer, slots: str, by_us: int) -> None:
    """Have all slots been renewed so long ago."""
    kept = server.client.hgetall(slots)
    for process, value in dict(kept).items():
        count, until = value.split()
        server.client.hset(slots, process, f"{int(count)} {int(until) - by_us}")


def test_the_clock_of_this_host_does_not_count(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)

    async def run() -> None:
        async with serving([redis_counters(server, "one")]) as (limits,):
            await enter(limits, make_key(CallLimits(1, 5, 1)))

    asyncio.run(run())
