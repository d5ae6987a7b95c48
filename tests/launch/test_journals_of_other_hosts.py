"""Two homes on one PostgreSQL and one Redis: one dies with calls that only its journal has.

`make prove-journals` runs many rounds (ROUNDS=20), `make test` one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import add_fake_model
from tests.flows.caller import Caller
from tests.support.metrics import get, scrape
from tests.support.redis import running_redis
from tests.support.servers import (
    GatewayServer,
    UpstreamServer,
    manage_json,
    prepare_home,
    run_manage,
    running_gateway,
    running_upstream,
)
from tests.support.storage import database_of, shared_server, storage_environment, use_postgresql
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("ROUNDS", "1"))
CALLS = 20
TOKEN = "metrics-token-of-the-tests"
# Nothing is to be posted while this is held, and calls go on.
KEEP_UNPOSTED = "LOCK TABLE gateway_callrecord IN SHARE ROW EXCLUSIVE MODE"


@dataclass
class Hosts:
    """one dies and comes back, other serves on."""

    one: GatewayServer
    other: GatewayServer
    upstream: UpstreamServer
    database: str
    url: str

    def ask(self, statement: str) -> list[list[str]]:
        rows = shared_server().run(statement, database=self.database).splitlines()
        return [row.split("|") for row in rows]

    def statuses(self) -> dict[str, int]:
        """Return how many calls there are of each status."""
        found = self.ask("SELECT status, count(*) FROM gateway_callrecord GROUP BY 1")
        return {status: int(count) for status, count in found}

    def reserved_nusd(self, process: str) -> int:
        purses = f"accounts_purse WHERE process_id = '{process}'"
        return int(self.ask(f"SELECT coalesce(sum(amount_nusd), 0) FROM {purses}")[0][0])

    def kill_one(self) -> str:
        """Kill it with CALLS ended calls and a running one that only its journal has, and one that
        is posted as open; return its process, which counts as dead from now on."""
        [[process]] = self.ask(
            "SELECT id FROM gateway_servingprocess WHERE state = 'alive'"
            f" AND pid = {self.one.process.pid}"
        )
        caller = Caller(self.one.port, self.one.key, "", "")
        assert caller.ask("script:tokens=5", max_tokens=5_000).status == 200
        gate = f"script:tokens=5&stall_after=1&gate={process}"
        posted = caller.begin(gate, stream=True, max_tokens=20)
        posted.wait_for_tokens(1)
        wait_until(lambda: self.statuses().get("in_progress") == 1, what="the call to be posted")
        with psycopg.connect(self.url) as lock:
            lock.execute(KEEP_UNPOSTED)
            for _ in range(CALLS):
                assert caller.ask("script:tokens=5", max_tokens=10).status == 200
            running = caller.begin(gate, stream=True, max_tokens=20)
            running.wait_for_tokens(1)
            self.one.kill()
            lock.rollback()
        self.upstream.open_gate(process)
        posted.close()
        running.close()
        self.ask(
            "UPDATE gateway_servingprocess SET lease_until = lease_until - interval '1 hour',"
            f" heartbeat_at = heartbeat_at - interval '1 hour' WHERE id = '{process}'"
        )
        return process

    def warnings(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = get(f"{self.other.origin}/readyz").json.get("warnings", [])
        return found

    def prove(self) -> dict[str, Any]:
        return manage_json(self.other.home, "prove")

    def journal(self, process: str) -> Path:
        return self.one.home / "journal" / process

    def copy_of(self, process: str, folder: Path) -> Path:
        return Path(shutil.copytree(self.journal(process), folder / process))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    homes = tmp_path_factory.mktemp("hosts")
    home, other_home = homes / "one", homes / "other"
    url = use_postgresql(home)
    prepare_home(home)
    shutil.copytree(home, other_home)
    use_postgresql(other_home, database_of(home))
    assert storage_environment(other_home)["DATABASE_URL"] == url
    with running_redis() as redis:
        env = {"REDIS_URL": redis.url, "TOLLHOUSE_METRICS_TOKEN": TOKEN}
        with (
            running_upstream() as upstream,
            running_gateway(home, env=env) as one,
            running_gateway(other_home, env=env) as other,
        ):
            add_fake_model(one, upstream)
            other.wait_for_model("fake-model")
            yield Hosts(one, other, upstream, database_of(home), url)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_dead_host_is_left_alone_until_it_comes_back_and_posts_its_journal(
    hosts: Hosts, round_: int
) -> None:
    before = hosts.statuses()
    process = hosts.kill_one()
    reserved_nusd = hosts.reserved_nusd(process)
    wait_until(lambda: hosts.warnings() != [], what="the other host to see it")

    [warning] = hosts.warnings()
    [told] = hosts.prove()["unreplayed_journals"]
    metrics = scrape(f"{hosts.other.origin}/metrics", token=TOKEN)
    page = run_manage(hosts.other.home, "prove").stdout

    assert warning["check"] == "journals"
    assert (told["process_id"], told["open_calls"]) == (process, 1)
    assert told["reserved_nusd"] == reserved_nusd > told["held_nusd"] > 0
    assert "1 dead process with a journal that is not posted" in page
    assert metrics.sum("tollhouse_unreplayed_journals") == 1
    assert metrics.sum("tollhouse_unreplayed_reserved_nusd") == reserved_nusd
    assert get(f"{hosts.other.base_url}/status").json["unreplayed_journals"] == 1
    assert Caller(hosts.other.port, hosts.other.key, "", "").ask("Hello").status == 200
    assert hosts.reserved_nusd(process) == reserved_nusd

    hosts.one.restart()

    assert_all_is_posted(hosts, before, process, "reaped", others=1)
    wait_until(lambda: hosts.warnings() == [], what="the warning to end")


def assert_all_is_posted(
    hosts: Hosts, before: dict[str, int], process: str, state: str, *, others: int = 0
) -> None:
    """Every record is in the database once, and nothing is reserved any more."""

    def are_posted() -> bool:
        now = hosts.statuses()
        ok = now.get("ok", 0) - before.get("ok", 0)
        aborted = now.get("platform_aborted", 0) - before.get("platform_aborted", 0)
        return (ok, aborted, now.get("in_progress", 0)) == (1 + CALLS + others, 2, 0)

    wait_until(are_posted, what="all calls to be posted")
    proof = hosts.prove()
    assert (proof["breaks"], proof["unreplayed_journals"]) == ([], [])
    assert hosts.reserved_nusd(process) == 0
    found = hosts.ask(f"SELECT state FROM gateway_servingprocess WHERE id = '{process}'")
    assert found == [[state]]


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_copied_journal_is_adopted_and_the_host_that_returns_posts_nothing_twice(
    hosts: Hosts, round_: int, tmp_path: Path
) -> None:
    before, faults = hosts.statuses(), hosts.prove()["journal_faults"]
    process = hosts.kill_one()
    copy = hosts.copy_of(process, tmp_path)

    adopted = hosts.other.manage("adopt_journal", str(copy))
    again = run_manage(hosts.other.home, "adopt_journal", str(copy))

    assert (adopted["process_id"], adopted["aborted_calls"]) == (process, 2)
    assert_all_is_posted(hosts, before, process, "adopted")
    assert again.returncode == 1
    assert "was adopted before" in again.stderr
    hosts.one.restart()
    assert_all_is_posted(hosts, before, process, "adopted")
    assert not hosts.journal(process).exists()
    assert hosts.prove()["journal_faults"] == faults


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_journal_that_was_declared_lost_is_kept_and_not_posted_when_it_returns(
    hosts: Hosts, round_: int, tmp_path: Path
) -> None:
    before = hosts.statuses()
    process = hosts.kill_one()
    reserved_nusd = hosts.reserved_nusd(process)
    copy = hosts.copy_of(process, tmp_path)

    stated = hosts.other.manage("declare_lost", process)
    still = hosts.reserved_nusd(process)
    declared = hosts.other.manage("declare_lost", process, "--accept-loss")
    too_late = run_manage(hosts.other.home, "adopt_journal", str(copy))

    assert (stated["declared"], declared["declared"]) == (False, True)
    assert stated["open_calls"] == declared["open_calls"] == 1
    assert stated["at_most_nusd"] == declared["at_most_nusd"] == still == reserved_nusd
    assert hosts.reserved_nusd(process) == 0
    assert "was declared lost" in too_late.stderr
    hosts.one.restart()
    proof = hosts.prove()
    [loss] = [each for each in proof["lost_journals"] if each["process_id"] == process]
    assert proof["breaks"] == []
    assert loss["late_records"] >= 2 * CALLS
    assert 0 < loss["late_cost_nusd"] <= reserved_nusd
    kinds = [each["kind"] for each in proof["journal_faults"] if each["process_id"] == process]
    assert kinds == ["lost", "late"]
    assert (hosts.one.home / "quarantine" / f"journal-{process}").is_dir()
    now = hosts.statuses()
    assert now["ok"] == before.get("ok", 0) + 1  # the rest was in the journal alone
