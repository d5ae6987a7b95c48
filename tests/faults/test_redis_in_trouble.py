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


@pytest.mark.parametrize("trouble", [stopped, silent, emptied, disconnected, replaced])
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
