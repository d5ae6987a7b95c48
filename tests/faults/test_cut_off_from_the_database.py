"""A host loses its connection to PostgreSQL, or the answer to a COMMIT; others have theirs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site
from tests.support.postgresql import PostgresqlServer
from tests.support.redis import running_redis
from tests.support.servers import GatewayServer, running_gateway
from tests.support.storage import database_of
from tests.support.tcp_proxy import TcpProxy, running_tcp_proxy
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

CALLS = 40


@dataclass(frozen=True)
class Hosts:
    """site: of the host whose way to the database is the proxy; near: the other host's process."""

    site: Site
    near: GatewayServer
    proxy: TcpProxy

    def near_caller(self, caller: Caller) -> Caller:
        return replace(caller, port=self.near.port)


@pytest.fixture
def hosts(postgresql: PostgresqlServer, postgresql_home: Path, tmp_path: Path) -> Iterator[Hosts]:
    database = database_of(postgresql_home)
    near_home = Path(shutil.copytree(postgresql_home, tmp_path / "near"))
    with ExitStack() as stack:
        proxy = stack.enter_context(running_tcp_proxy(postgresql.folder / ".s.PGSQL.5432"))
        redis = stack.enter_context(running_redis())
        direct = {"DATABASE_URL": postgresql.url(database), "REDIS_URL": redis.url}
        far = direct | {"DATABASE_URL": f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}"}
        near = stack.enter_context(running_gateway(near_home, env=direct))
        # The office is beside the database, too.
        site = stack.enter_context(running_site(postgresql_home, far, office_env=direct))
        yield Hosts(site, near, proxy)


def hold_back(proxy: TcpProxy) -> None:
    proxy.hold_back()


def cut(proxy: TcpProxy) -> None:
    proxy.hold_back()
    proxy.reset()


@pytest.mark.parametrize("separate", [hold_back, cut], ids=["silent", "reset"])
def test_a_host_without_the_database_ends_its_calls_and_the_other_goes_on(
    hosts: Hosts, separate: Callable[[TcpProxy], None]
) -> None:
    site = hosts.site
    caller = site.caller()
    near = hosts.near_caller(caller)
    wait_until(lambda: near.ask("a", max_tokens=5).status == 200, what="that host to know models")
    script = f"script:tokens=9&stall_after=2&gate={caller.key_id}"
    stream = caller.begin(script, stream=True)
    stream.wait_for_tokens(2)
    buffered = caller.begin(f"script:gate={caller.key_id}")
    site.running(caller, count=2)

    separate(hosts.proxy)
    with ThreadPoolExecutor(4) as threads:
        there = [threads.submit(near.ask, "a", max_tokens=5) for _ in range(CALLS)]
        here = [threads.submit(caller.ask, "a", max_tokens=5) for _ in range(CALLS)]
        stranger = caller.with_(secret="sk-gw-nobody").ask("a")
        site.upstream.open_gate(caller.key_id)
        ends = [stream.answer(), buffered.answer()]
    hosts.proxy.go_on()

    wait_until(lambda: caller.ask("a", max_tokens=5).status == 200, what="calls on that host")
    assert {call.result().status for call in there} == {200}
    assert_served_or_told(call.result() for call in here)
    assert (stranger.status, stranger.error["code"]) == (503, "database_unavailable")
    assert [end.is_whole for end in ends] == [True, True]
    assert ends[0].events[-1] == "[DONE]"
    assert {site.record(end.call_id)["status"] for end in ends} == {"ok"}


def assert_served_or_told(answers: Iterator[Answer]) -> None:
    """Assert that nobody is blamed for what the database does."""
    for answer in answers:
        assert answer.status in (200, 503), answer.body
        if answer.status == 503:
            assert answer.error["code"] == "database_unavailable"
            assert int(answer.headers["retry-after"]) >= 1


def test_a_commit_whose_answer_is_lost_happens_once(hosts: Hosts) -> None:
    site = hosts.site
    caller = site.caller()
    answers: list[Answer] = []

    for _ in range(6):
        hosts.proxy.commits_to_lose = 1
        answers += [caller.ask("a", max_tokens=5) for _ in range(5)]
        answers += [caller.stream("a", max_tokens=5) for _ in range(5)]
        wait_until(lambda: hosts.proxy.commits_to_lose == 0, what="a COMMIT")

    served = [answer for answer in answers if answer.status == 200]
    assert len(served) > len(answers) // 2
    assert_served_or_told(iter(answers))
    assert hosts.proxy.commits_lost > 0
    records = [site.record(answer.call_id) for answer in served]
    assert {record["status"] for record in records} == {"ok"}
    charged = sum(record["charge_nusd"] for record in records)
    wait_until(lambda: site.balance_nusd(caller) == 10**9 - charged, what="the charges")
