"""The clock of a host is set while calls run, or is wrong from the beginning."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.support.clocks import FakeClock, fake_clock
from tests.support.postgresql import PostgresqlServer
from tests.support.redis import running_redis
from tests.support.rows import count
from tests.support.servers import running_gateway
from tests.support.storage import database_of

pytestmark = pytest.mark.slow

HOUR_S, DAY_S = 3_600, 86_400
STEPS_S = (HOUR_S, -HOUR_S, DAY_S, -DAY_S, 300, 0)
BURST = 3
TOO_LONG = "lease_until > CURRENT_TIMESTAMP + INTERVAL '40 seconds'"
DURATIONS = ("total_us", "admit_us", "queued_us", "failed_us", "ttft_us", "upstream_us")


@dataclass(frozen=True)
class Stepped:
    site: Site
    clock: FakeClock


@pytest.fixture
def stepped(home_template: Path, tmp_path: Path) -> Iterator[Stepped]:
    home = Path(shutil.copytree(home_template, tmp_path / "home"))
    clock = fake_clock(tmp_path)
    with running_site(home, clock.environment, office_env={}) as site:
        yield Stepped(site, clock)
        clock.be_off_by(0)


def test_calls_money_and_limits_do_not_mind(stepped: Stepped) -> None:
    site, clock = stepped.site, stepped.clock
    caller = site.caller()
    limited = site.limited_caller(max_requests_per_minute=1, burst=BURST)
    gate = caller.key_id
    stream = caller.begin(f"script:tokens=9&stall_after=2&gate={gate}", stream=True)
    stream.wait_for_tokens(2)
    buffered = caller.begin(f"script:tokens=9&gate={gate}")
    let_in = [limited.ask("a").status for _ in range(BURST + 1)]
    answers = []

    for step_s in STEPS_S:
        clock.be_off_by(step_s)
        answers += [caller.ask("a", max_tokens=5), caller.stream("a", max_tokens=5)]
        let_in.append(limited.ask("a").status)
    site.upstream.open_gate(gate)
    ends = [stream.answer(), buffered.answer()]

    assert {answer.status for answer in answers + ends} == {200}
    assert all(answer.is_whole for answer in ends)
    assert let_in == [200] * BURST + [429] * (1 + len(STEPS_S))
    records = [site.record(answer.call_id) for answer in answers + ends]
    assert {record["status"] for record in records} == {"ok"}
    told = [record[name] for record in records for name in DURATIONS if record[name] is not None]
    assert min(told) >= 0
    assert max(told) < HOUR_S * 1_000_000


@pytest.mark.parametrize("off_s", [-HOUR_S, HOUR_S, -300], ids=["behind", "ahead", "drifted"])
def test_a_host_whose_clock_is_wrong_lives_as_long_as_it_does(
    postgresql: PostgresqlServer, postgresql_home: Path, tmp_path: Path, off_s: int
) -> None:
    other_home = Path(shutil.copytree(postgresql_home, tmp_path / "other"))
    clock = fake_clock(tmp_path)
    clock.be_off_by(off_s)
    url = {"DATABASE_URL": postgresql.url(database_of(postgresql_home))}
    alive = "gateway_servingprocess WHERE state = 'alive'"
    with running_redis() as redis:
        env = url | {"REDIS_URL": redis.url}
        with (
            running_gateway(other_home, env=env | clock.environment) as wrong,
            running_site(postgresql_home, env) as site,
        ):
            assert wrong.chat()["choices"]

            ended = [site.office.do("end_silent") for _ in range(3)]
            at_work, too_long = count(postgresql_home, alive, env), f"{alive} AND {TOO_LONG}"

            assert ended == [[], [], []]
            assert at_work == 2
            # When it dies, its money is not kept until its own clock says so.
            assert count(postgresql_home, too_long, env) == 0
            assert "declared dead" not in wrong.log.read_text()
