"""Redis is stopped, slow, emptied or full of something else, while calls are made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.support.redis import RedisServer, running_redis
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

BURST = 5


@dataclass(frozen=True)
class Shared:
    site: Site
    redis: RedisServer


@pytest.fixture(scope="module")
def shared(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("redis") / "home"))
    with running_redis() as redis, running_site(home, {"REDIS_URL": redis.url}) as site:
        yield Shared(site, redis)


@contextmanager
def stopped(redis: RedisServer) -> Iterator[None]:
    redis.stop()
    yield
    redis.start()


@contextmanager
def silent(redis: RedisServer) -> Iterator[None]:
    redis.pause()
    yield
    redis.resume()


@contextmanager
def emptied(redis: RedisServer) -> Iterator[None]:
    redis.client.flushall()
    yield


@contextmanager
def disconnected(redis: RedisServer) -> Iterator[None]:
    redis.client.client_kill_filter(_type="normal", skipme=True)
    yield


@contextmanager
def replaced(redis: RedisServer) -> Iterator[None]:
    """Every key is of another type."""
    for key in redis.client.scan_iter():
        redis.client.delete(key)
        redis.client.set(key, "something else")
    yield
    redis.client.flushall()


@contextmanager
def full(redis: RedisServer) -> Iterator[None]:
    """It answers, and refuses every write."""
    redis.client.config_set("maxmemory-policy", "noeviction")
    redis.client.config_set("maxmemory", 1)
    yield
    redis.client.config_set("maxmemory", 0)


@contextmanager
def made_a_replica(redis: RedisServer) -> Iterator[None]:
    """It answers, and refuses every write, as after a failover that nobody told us of."""
    redis.client.replicaof("127.0.0.1", "1")
    yield
    redis.client.replicaof("NO", "ONE")


@pytest.mark.parametrize(
    "trouble", [stopped, silent, emptied, disconnected, replaced, full, made_a_replica]
)
def test_nobody_notices_and_no_limit_is_exceeded(
    shared: Shared, trouble: Callable[[RedisServer], AbstractContextManager[None]]
) -> None:
    site = shared.site
    caller = site.caller()
    limited = site.limited_caller(max_requests_per_minute=1, burst=BURST)
    let_in = [limited.ask("a", max_tokens=5).status for _ in range(2)]
    gate = caller.key_id
    stream = caller.begin(f"script:tokens=9&stall_after=2&gate={gate}", stream=True)
    stream.wait_for_tokens(2)

    with trouble(shared.redis):
        answers = [caller.ask("a", max_tokens=5) for _ in range(10)]
        answers += [caller.stream("a", max_tokens=5) for _ in range(10)]
        let_in += [limited.ask("a", max_tokens=5).status for _ in range(BURST)]
        site.upstream.open_gate(gate)
        end = stream.answer()
    let_in += [limited.ask("a", max_tokens=5).status for _ in range(BURST)]

    assert {answer.status for answer in [*answers, end]} == {200}
    assert set(let_in) == {200, 429}
    assert let_in.count(200) == BURST


@pytest.mark.parametrize("trouble", [full, made_a_replica])
def test_a_redis_that_takes_no_writes_is_away_until_it_does(
    shared: Shared, trouble: Callable[[RedisServer], AbstractContextManager[None]]
) -> None:
    log, redis = shared.site.gateway.log, shared.redis
    limited = shared.site.limited_caller(max_requests_per_minute=100_000)
    wait_until(lambda: is_up(log), what="Redis to be asked")
    before = len(log.read_text())

    def lines(words: str) -> int:
        return log.read_text()[before:].count(words)

    with trouble(redis):
        answers = [limited.ask("a", max_tokens=5)]
        wait_until(lambda: lines("is away"), what="the outage to be told")
        tries = connections(redis)
        while connections(redis) < tries + 3:
            answers.append(limited.ask("a", max_tokens=5))
        told = lines("Redis at")

    assert {answer.status for answer in answers} == {200}
    assert told == 1
    wait_until(lambda: lines("answers again"), what="Redis to be asked again")


def is_up(log: Path) -> bool:
    told = [line for line in log.read_text().splitlines() if "Redis at" in line]
    return not told or "answers again" in told[-1]


def connections(redis: RedisServer) -> int:
    """Return how many were ever made to it."""
    return int(redis.client.info("stats")["total_connections_received"])
