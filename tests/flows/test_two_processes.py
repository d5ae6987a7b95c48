"""Two server processes on one PostgreSQL and one Redis: limits hold for both together.

`make prove-races` runs many rounds (ROUNDS=1000), `make test` a few.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site, running_site
from tests.support.redis import RedisServer, running_redis
from tests.support.servers import GatewayServer, running_gateway
from tests.support.waiting import wait_for_a_day_that_lasts, wait_until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("ROUNDS", "2"))
CONTENDERS = 64
MOST = 5
PROMPT, TOKENS = "a", 10
# By then every process knows of a change.
CHANGES_HOLD_S = 1.0


@dataclass(frozen=True)
class Pair:
    site: Site
    other: GatewayServer
    redis: RedisServer

    def race(self, callers: Sequence[Caller], prompt: str) -> dict[int, int]:
        """Make calls of each to both processes at once; return how many ended with which status."""
        ports = [self.site.gateway.port, self.other.port]

        def call(number: int) -> int:
            caller = replace(callers[number // 2 % len(callers)], port=ports[number % 2])
            return caller.ask(prompt, max_tokens=TOKENS).status

        with ThreadPoolExecutor(CONTENDERS) as threads:
            return dict(Counter(threads.map(call, range(CONTENDERS))))


@pytest.fixture(scope="module")
def pair(postgresql_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = Path(shutil.copytree(postgresql_template, tmp_path_factory.mktemp("two") / "home"))
    with running_redis() as redis:
        env = {
            "REDIS_URL": redis.url,
            "TOLLHOUSE_REDIS_WAIT_MS": "5000",  # the machine is busy, not Redis
            "TOLLHOUSE_QUEUE_TIMEOUT_MS": "1000",
        }
        with running_site(home, env) as site, running_gateway(home, env=env) as other:
            yield Pair(site, other, redis)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_requests_of_a_window(pair: Pair, round_: int) -> None:
    caller = pair.site.limited_caller(max_requests_per_minute=1, burst=MOST)

    found = pair.race([caller], PROMPT)

    assert found == {200: MOST, 429: CONTENDERS - MOST}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_slots(pair: Pair, round_: int) -> None:
    caller = pair.site.limited_caller(max_concurrent=MOST)
    gate = f"slots-{caller.key_id}"

    found = race_at_a_gate(pair, [caller], gate, refused=429)

    assert found == {200: MOST, 429: CONTENDERS - MOST}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_tokens_of_a_window(pair: Pair, round_: int) -> None:
    caller = pair.site.limited_caller()
    gate = f"tokens-{caller.key_id}"
    # What calls may use is reserved while they run: the prompt is bounded, the output limited.
    limit_output(pair, caller, (MOST + 1) * TOKENS - 1)

    found = race_at_a_gate(pair, [caller], gate, refused=429)

    assert found == {200: MOST, 429: CONTENDERS - MOST}
    # Each call used what it had reserved: as many tokens as before are left.
    assert pair.race([caller], PROMPT) == {429: CONTENDERS}


def limit_output(pair: Pair, caller: Caller, tokens: int) -> None:
    """Limit the completion tokens of a key in a day, and wait until that is known."""
    rule = ["--metric", "completion_tokens", "--maximum", str(tokens), "--period", "day"]
    pair.site.office.do("command", name="set_limit_rule", arguments=["--key", caller.key_id, *rule])
    time.sleep(CHANGES_HOLD_S)


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("period", ["daily", "monthly", "total"])
def test_the_last_cent_of_a_budget(pair: Pair, period: str, round_: int) -> None:
    caller = pair.site.limited_caller()

    race_for_the_last_cent(pair, "key", period, [caller])


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize(("level", "period"), [("member", "weekly"), ("workspace", "daily")])
def test_the_last_cent_of_a_budget_of_several_keys(
    pair: Pair, level: str, period: str, round_: int
) -> None:
    one = pair.site.members_caller()
    # Each key has a budget, too, which covers more.
    pair.site.office.do("budget", level="key", key_id=one.key_id, total_limit_nusd=10**9)
    owner = f"member@{one.workspace_id}.example" if level == "member" else ""
    other = pair.site.another_key(one.workspace_id, owner=owner)

    race_for_the_last_cent(pair, level, period, [one, other])


def race_for_the_last_cent(pair: Pair, level: str, period: str, callers: Sequence[Caller]) -> None:
    wait_for_a_day_that_lasts()
    caller = callers[0]
    gate = f"cent-{caller.key_id}"
    # What one call holds, by a call of another key, in a workspace where nothing is limited.
    probe = pair.site.caller()
    with probe.begin(f"script:tokens={TOKENS}&gate={gate}", max_tokens=TOKENS, stream=True) as live:
        [running] = pair.site.running(probe, count=1)
        hold_nusd = int(running["hold_nusd"])
        pair.site.upstream.open_gate(gate)
        live.answer()
    assert hold_nusd >= INPUT_NUSD + TOKENS * OUTPUT_NUSD
    gate = f"{gate}-2"
    limits = {f"{period}_limit_nusd": (MOST + 1) * hold_nusd - 1}
    pair.site.office.do("budget", level=level, key_id=caller.key_id, **limits)
    time.sleep(CHANGES_HOLD_S)

    found = race_at_a_gate(pair, callers, gate, refused=402)

    assert found == {200: MOST, 402: CONTENDERS - MOST}


def race_at_a_gate(
    pair: Pair, callers: Sequence[Caller], gate: str, *, refused: int
) -> dict[int, int]:
    """Race with calls that go on until all others are refused; return how many ended how."""
    site = pair.site
    with ThreadPoolExecutor(1) as thread:
        racing = thread.submit(pair.race, callers, f"script:tokens={TOKENS}&gate={gate}")

        def refusals() -> bool:
            found = [
                record
                for caller in callers
                for record in site.office.do("records", key_id=caller.key_id)
            ]
            told = [record for record in found if record["http_status"] == refused]
            return sum(int(record["counted_calls"]) for record in told) >= CONTENDERS - MOST

        try:
            wait_until(refusals, what="the refusals")
        finally:
            site.upstream.open_gate(gate)
        return racing.result()
