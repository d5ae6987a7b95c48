"""More callers than descriptors, more memory in use than may be: 503, and soon all is well."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.corpus.wire import Line, Talk, request, with_key
from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site
from tests.support.servers import DESCRIPTORS, GatewayServer, running_gateway
from tests.support.waiting import wait_until

MOST = 256
CLIENTS = 1_000
HEALTH = request(line="GET /v1/health HTTP/1.1", key=None, body=b"")
FEW = 40


@pytest.fixture(scope="module")
def small_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that may have few descriptors."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("small") / "home"))
    with running_site(home, {DESCRIPTORS: str(MOST)}) as site:
        yield site
        assert "Traceback" not in site.gateway.log.read_text()


def open_files(server: GatewayServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def cpu_ticks(server: GatewayServer) -> int:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def serves(caller: Caller) -> bool:
    with Line(caller.port) as line:
        line.send(with_key(request(), caller.secret))
        answers = line.listen(answers=1).answers
    return [answer.status for answer in answers] == [200]


def test_the_limit_on_descriptors_is_raised_as_far_as_it_may(small_site: Site) -> None:
    process = small_site.gateway.process

    assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (MOST, MOST)


def test_a_thousand_clients_are_more_than_256_descriptors(small_site: Site) -> None:
    caller = small_site.caller(credit_nusd=1_000 * NUSD_PER_USD)
    server = small_site.gateway
    call = with_key(request(), caller.secret)

    with ExitStack() as stack:
        lines = [stack.enter_context(Line(server.port)) for _ in range(CLIENTS)]
        for line in lines:
            line.send(call)
        most_open = open_files(server)
        talks = [line.listen(answers=1) for line in lines]

    answers = [answer for talk in talks for answer in talk.answers]
    statuses = {answer.status for answer in answers}
    assert statuses <= {200, 503}
    assert len(answers) > CLIENTS // 4
    assert {a.error["code"] for a in answers if a.status == 503} <= {"overloaded"}
    assert all(1 <= int(a.headers["retry-after"]) <= 10 for a in answers if a.status == 503)
    assert most_open < MOST
    wait_until(lambda: serves(caller), within_s=10, what="calls to be served again")
    assert small_site.gateway.process.poll() is None


def test_connections_that_only_wait_make_room_for_those_that_ask(small_site: Site) -> None:
    caller = small_site.caller(credit_nusd=1_000 * NUSD_PER_USD)

    with ExitStack() as stack:
        waiting = [stack.enter_context(Line(small_site.gateway.port)) for _ in range(CLIENTS)]
        wait_until(lambda: serves(caller), within_s=10, what="a call to be served")
        ticks = cpu_ticks(small_site.gateway)
        assert open_files(small_site.gateway) < MOST
        assert [serves(caller) for _ in range(10)] == [True] * 10
        assert cpu_ticks(small_site.gateway) - ticks < 100  # it does not spin
        del waiting


@pytest.fixture(scope="module")
def full_server(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    """A gateway that uses more memory than it may, once it looks."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("full") / "home"))
    with running_gateway(home, env={"TOLLHOUSE_MEMORY_LIMIT_MB": str(FEW)}) as server:
        yield server


def health(server: GatewayServer) -> Talk:
    with Line(server.port) as line:
        line.send(HEALTH)
        return line.listen(answers=1)


def test_who_asks_a_server_that_is_short_of_memory_is_told_to_come_back(
    full_server: GatewayServer,
) -> None:
    with Line(full_server.port):
        wait_until(
            lambda: health(full_server).answer.status == 503, what="a look at the memory in use"
        )
        answer = health(full_server).answer

    assert answer.error["code"] == "overloaded"
    assert 1 <= int(answer.headers["retry-after"]) <= 10
    assert answer.headers["connection"] == "close"
