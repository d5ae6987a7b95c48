"""Many callers at once for the last request, slot, token or cent, at one process and at several
that share PostgreSQL and Redis: limits and budgets hold exactly, for all processes together.

`make prove-races` runs many rounds (ROUNDS=1000) in every setting, `make test` a few in two.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest

from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site, running_site
from tests.support.proofs import form
from tests.support.redis import running_redis
from tests.support.servers import running_gateway
from tests.support.storage import POSTGRESQL, SQLITE
from tests.support.waiting import DEADLINE_S, wait_for_a_day_that_lasts, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.proof]

ROUNDS = int(os.environ.get("ROUNDS", "1"))
CONTENDERS = 64
MOST = 5
PROMPT, TOKENS = "a", 10
# By then every process knows of a change.
CHANGES_HOLD_S = 1.0
# The database did not answer in time, as on a busy machine: nothing was decided, callers ask again.
UNAVAILABLE, RETRY_S = 503, 0.1


class Setting(NamedTuple):
    """Several processes need PostgreSQL and Redis; one counts in its memory."""

    storage: str
    processes: int

    def __str__(self) -> str:
        return f"{self.storage}-{self.processes}"


SETTINGS = form(
    short=[Setting(SQLITE, 1), Setting(POSTGRESQL, 2)],
    whole=[Setting(SQLITE, 1), Setting(POSTGRESQL, 1), Setting(POSTGRESQL, 4)],
)


@dataclass(frozen=True)
class Track:
    """A running site, and the ports of all its processes."""

    site: Site
    ports: Sequence[int]

    def race(self, callers: Sequence[Caller], prompt: str) -> dict[int, int]:
        """Make calls of each to all processes at once; return how many ended with which status."""
        count = len(self.ports)

        def call(number: int) -> int:
            caller = callers[number // count % len(callers)]
            own = replace(caller, port=self.ports[number % count])
            deadline_s = time.monotonic() + DEADLINE_S
            while (status := own.ask(prompt, max_tokens=TOKENS).status) == UNAVAILABLE:
                assert time.monotonic() < deadline_s
                time.sleep(RETRY_S)
            return status

        with ThreadPoolExecutor(CONTENDERS) as threads:
            return dict(Counter(threads.map(call, range(CONTENDERS))))


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def track(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Track]:
    setting: Setting = request.param
    template = "home_template" if setting.storage == SQLITE else "postgresql_template"
    home = tmp_path_factory.mktemp("races") / "home"
    shutil.copytree(request.getfixturevalue(template), home)
    env = {"TOLLHOUSE_QUEUE_TIMEOUT_MS": "1000"}
    with ExitStack() as stack:
        if setting.processes > 1:
            env["REDIS_URL"] = stack.enter_context(running_redis()).url
            env["TOLLHOUSE_REDIS_WAIT_MS"] = "5000"  # the machine is busy, not Redis
        site = stack.enter_context(running_site(home, env))
        others = [
            stack.enter_context(running_gateway(home, env=env))
            for _ in range(setting.processes - 1)
        ]
        yield Track(site, [site.gateway.port, *(other.port for other in others)])


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_requests_of_a_window(track: Track, round_: int) -> None:
    caller = track.site.limited_caller(max_requests_per_minute=1, burst=MOST)

    found = track.race([caller], PROMPT)

    assert found == {200: MOST, 429: CONTENDERS - MOST}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_slots(track: Track, round_: int) -> None:
    caller = track.site.limited_caller(max_concurrent=MOST)
    gate = f"slots-{caller.key_id}"

    found = race_at_a_gate(track, [caller], gate, refused=429)

    assert found == {200: MOST, 429: CONTENDERS - MOST}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_tokens_of_a_window(track: Track, round_: int) -> None:
    caller = track.site.limited_caller()
    gate = f"tokens-{caller.key_id}"
    # What calls may use is reserved while they run: the prompt is bounded, the output limited.
    limit_output(track, caller, (MOST + 1) * TOKENS - 1)

    found = race_at_a_gate(track, [caller], gate, refused=429)

    assert found == {200: MOST, 429: CONTENDERS - MOST}
    # Each call used what it had reserved: as many tokens as before are left.
    assert track.race([caller], PROMPT) == {429: CONTENDERS}


def limit_output(track: Track, caller: Caller, tokens: int) -> None:
    """Limit the completion tokens of a key in a day, and wait until that is known."""
    rule = ["--metric", "completion_tokens", "--maximum", str(tokens), "--period", "day"]
    track.site.office.do(
        "command", name="set_limit_rule", arguments=["--key", caller.key_id, *rule]
    )
    time.sleep(CHANGES_HOLD_S)


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("period", form(short=["daily"], whole=["daily", "monthly", "total"]))
def test_the_last_cent_of_a_budget(track: Track, period: str, round_: int) -> None:
    race_for_the_last_cent(track, "key", period, [track.site.limited_caller()])


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_the_last_cent_of_a_raised_budget(track: Track, round_: int) -> None:
    caller = track.site.members_caller()

    race_for_the_last_cent(track, "workspace", "daily", [caller], is_raised=True)


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("period", form(short=["daily"], whole=["daily", "weekly"]))
@pytest.mark.parametrize("level", ["member", "workspace"])
def test_the_last_cent_of_a_budget_of_several_keys(
    track: Track, level: str, period: str, round_: int
) -> None:
    one = track.site.members_caller()
    # Each key has a budget, too, which covers more.
    track.site.office.do("budget", level="key", key_id=one.key_id, total_limit_nusd=10**9)
    owner = f"member@{one.workspace_id}.example" if level == "member" else ""
    other = track.site.another_key(one.workspace_id, owner=owner)

    race_for_the_last_cent(track, level, period, [one, other])


def race_for_the_last_cent(
    track: Track, level: str, period: str, callers: Sequence[Caller], *, is_raised: bool = False
) -> None:
    """is_raised: a part of the budget is a raise of it."""
    wait_for_a_day_that_lasts()
    caller = callers[0]
    gate = f"cent-{caller.key_id}"
    # What one call holds, by a call of another key, in a workspace where nothing is limited.
    probe = track.site.caller()
    with probe.begin(f"script:tokens={TOKENS}&gate={gate}", max_tokens=TOKENS, stream=True) as live:
        [running] = track.site.running(probe, count=1)
        hold_nusd = int(running["hold_nusd"])
        track.site.upstream.open_gate(gate)
        live.answer()
    assert hold_nusd >= INPUT_NUSD + TOKENS * OUTPUT_NUSD
    gate = f"{gate}-2"
    raised_nusd = 2 * hold_nusd if is_raised else 0
    limits = {f"{period}_limit_nusd": (MOST + 1) * hold_nusd - 1 - raised_nusd}
    track.site.office.do("budget", level=level, key_id=caller.key_id, **limits)
    if is_raised:
        wish = {"amount_nusd": raised_nusd, "for_s": 3_600}
        track.site.office.do("raise_budget", level=level, key_id=caller.key_id, **wish)
    time.sleep(CHANGES_HOLD_S)

    found = race_at_a_gate(track, callers, gate, refused=402)

    assert found == {200: MOST, 402: CONTENDERS - MOST}


def race_at_a_gate(
    track: Track, callers: Sequence[Caller], gate: str, *, refused: int
) -> dict[int, int]:
    """Race with calls that go on until all others are refused; return how many ended how."""
    site = track.site
    with ThreadPoolExecutor(1) as thread:
        racing = thread.submit(track.race, callers, f"script:tokens={TOKENS}&gate={gate}")

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
