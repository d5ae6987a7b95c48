"""Many callers at once for the last request, slot, token, credit or cent: limits and balances hold
exactly, for all processes together.

`make prove-races` runs 1,000 rounds of each race in every setting, `make test` two in two settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.races import (
    CONTENDERS,
    MOST,
    TOKENS,
    MakeCallers,
    Outcome,
    Setting,
    Track,
    running_track,
)
from tests.support.proofs import form
from tests.support.storage import POSTGRESQL, SQLITE
from tests.support.waiting import wait_for_a_day_that_lasts

pytestmark = [pytest.mark.slow, pytest.mark.proof]

ROUNDS = form(short=2, whole=int(os.environ.get("ROUNDS", "1000")))
SETTINGS = form(
    short=[Setting(SQLITE), Setting(POSTGRESQL, 2, has_redis=True)],
    whole=[
        Setting(SQLITE),
        Setting(SQLITE, has_redis=True),
        Setting(POSTGRESQL),
        Setting(POSTGRESQL, has_redis=True),
        Setting(POSTGRESQL, 4, has_redis=True),
    ],
)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def track(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Track]:
    setting: Setting = request.param
    template = "home_template" if setting.storage == SQLITE else "postgresql_template"
    home: Path = tmp_path_factory.mktemp("races") / "home"
    with running_track(setting, request.getfixturevalue(template), home) as running:
        yield running


def test_the_last_requests_of_a_window(track: Track) -> None:
    def make() -> list[Caller]:
        return [track.site.limited_caller(max_requests_per_minute=1, burst=MOST)]

    for callers in track.contenders(make, ROUNDS):
        assert track.race(callers) == exactly_most(429)


def test_the_last_slots(track: Track) -> None:
    race_often(track, lambda: [track.site.limited_caller(max_concurrent=MOST)], refused=429)


def test_the_last_tokens_of_a_window(track: Track) -> None:
    # What calls may use is reserved while they run: the prompt is bounded, the output limited.
    rule = ["--metric", "completion_tokens", "--period", "day"]
    rule += ["--maximum", str((MOST + 1) * TOKENS - 1)]

    def make() -> list[Caller]:
        caller = track.site.limited_caller()
        arguments = ["--key", caller.key_id, *rule]
        track.site.office.do("command", name="set_limit_rule", arguments=arguments)
        return [caller]

    for callers in race_often(track, make, refused=429):
        # Each call used what it had reserved: as many tokens as before are left.
        assert track.race(callers) == {429: CONTENDERS}


def test_the_last_credit(track: Track) -> None:
    # Where a balance covers less than a call may cost, its output is limited: not below one token.
    hold_nusd = track.hold_nusd(tokens=1)

    def make() -> list[Caller]:
        return [track.site.limited_caller(credit_nusd=(MOST + 1) * hold_nusd - 1)]

    for [caller] in race_often(track, make, refused=402, tokens=1):
        assert track.site.balance_nusd(caller) >= 0


@pytest.mark.parametrize("period", form(short=["daily"], whole=["daily", "monthly", "total"]))
def test_the_last_cent_of_a_budget(track: Track, period: str) -> None:
    race_for_the_last_cent(track, "key", period, lambda: [track.site.limited_caller()])


def test_the_last_cent_of_a_raised_budget(track: Track) -> None:
    def make() -> list[Caller]:
        return [track.site.members_caller()]

    race_for_the_last_cent(track, "workspace", "daily", make, is_raised=True)


@pytest.mark.parametrize("period", form(short=["daily"], whole=["daily", "weekly"]))
@pytest.mark.parametrize("level", ["member", "workspace"])
def test_the_last_cent_of_a_budget_of_several_keys(track: Track, level: str, period: str) -> None:
    def make() -> list[Caller]:
        one = track.site.members_caller()
        # Each key has a budget, too, which covers more.
        track.site.office.do("budget", level="key", key_id=one.key_id, total_limit_nusd=10**9)
        owner = f"member@{one.workspace_id}.example" if level == "member" else ""
        return [one, track.site.another_key(one.workspace_id, owner=owner)]

    race_for_the_last_cent(track, level, period, make)


def race_for_the_last_cent(
    track: Track, level: str, period: str, make: MakeCallers, *, is_raised: bool = False
) -> None:
    """is_raised: a part of the budget is a raise of it."""
    wait_for_a_day_that_lasts()
    hold_nusd = track.hold_nusd()
    raised_nusd = 2 * hold_nusd if is_raised else 0
    limits = {f"{period}_limit_nusd": (MOST + 1) * hold_nusd - 1 - raised_nusd}

    def make_limited() -> list[Caller]:
        callers = list(make())
        key_id = callers[0].key_id
        track.site.office.do("budget", level=level, key_id=key_id, **limits)
        if is_raised:
            wish = {"amount_nusd": raised_nusd, "for_s": 3_600}
            track.site.office.do("raise_budget", level=level, key_id=key_id, **wish)
        return callers

    race_often(track, make_limited, refused=402)


def race_often(
    track: Track, make: MakeCallers, *, refused: int, tokens: int = TOKENS
) -> list[list[Caller]]:
    """Race with so many new callers; return them."""
    raced = []
    for callers in track.contenders(make, ROUNDS):
        assert track.race_at_a_gate(callers, tokens=tokens) == exactly_most(refused)
        raced.append(list(callers))
    return raced


def exactly_most(refused: int) -> Outcome:
    return {200: MOST, refused: CONTENDERS - MOST}
