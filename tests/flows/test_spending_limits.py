"""What keys, members and workspaces may spend: never more, whatever happens to the server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site, running_site
from tests.flows.test_admission import assert_refused, assert_written_down
from tests.support.waiting import wait_for_a_day_that_lasts, wait_until

# A call of ten tokens in answer to one: what it costs, and what is held for it with this limit.
PROMPT, TOKENS = "a", 10
COST_NUSD = INPUT_NUSD + TOKENS * OUTPUT_NUSD
PERIODS = ("daily", "weekly", "monthly", "total")
OWNERS = {"key": "token", "member": "user", "workspace": "organisation"}


def call(caller: Caller, *, stream: bool = False) -> Answer:
    return caller.ask(PROMPT, max_tokens=TOKENS, stream=stream)


def held_nusd(site: Site, answer: Answer) -> int:
    return int(site.record(answer.call_id)["hold_nusd"])


def call_until_refused(caller: Caller, most: int = 40) -> list[Answer]:
    """Return the answers up to the first that is not 200."""
    answers: list[Answer] = []
    while len(answers) < most and (not answers or answers[-1].status == 200):
        answers.append(call(caller, stream=bool(len(answers) % 2)))
    return answers


def spent_nusd(site: Site, caller: Caller) -> int:
    """Return what the key has spent today, by the ledger, once it has all of it."""
    today, _, month, total = site.office.do("spent", key_id=caller.key_id)
    assert today == month == total
    return int(total)


def wait_for_spent(site: Site, caller: Caller, nusd: int) -> None:
    wait_until(lambda: spent_nusd(site, caller) == nusd, what=f"{nusd} nUSD to be spent")


@pytest.fixture(autouse=True)
def one_day() -> None:
    wait_for_a_day_that_lasts()


@pytest.fixture
def own_site(home: Path) -> Iterator[Site]:
    with running_site(home) as running:
        yield running


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("owner", OWNERS)
def test_an_owner_spends_up_to_the_limit_and_no_further(
    site: Site, owner: str, period: str
) -> None:
    limit_nusd = 5 * COST_NUSD
    caller = site.members_caller()
    limits = {f"{period}_limit_nusd": limit_nusd}
    site.office.do("budget", level=owner, key_id=caller.key_id, **limits)

    *served, refused = call_until_refused(caller)

    assert_refused(refused, 402, "key_limit_exceeded")
    assert refused.error["type"] == "key_limit_exceeded"
    assert "x-should-retry" not in refused.headers
    wait_for_spent(site, caller, len(served) * COST_NUSD)
    hold = held_nusd(site, served[0])
    assert len(served) * COST_NUSD <= limit_nusd < len(served) * COST_NUSD + hold
    details = refused.error["details"]
    assert details["level"] == OWNERS[owner]
    assert details["limit"]["metric"] == "cost_micro_usd"
    assert details["limit"]["max"] == limit_nusd // 1_000
    assert details["current"] == len(served) * COST_NUSD // 1_000
    assert details["requested"] == -(-hold // 1_000)
    told = {name: value for name, value in refused.headers.items() if name.startswith("x-limit-")}
    assert told.pop("x-limit-resets-at", None) == details.get("resets_at")
    assert told == {
        "x-limit-level": OWNERS[owner],
        "x-limit-metric": "cost_micro_usd",
        "x-limit-period": "total" if period == "total" else details["limit"]["period"],
    }
    if period != "total":
        assert datetime.fromisoformat(details["resets_at"]).tzinfo is not None
    assert caller.with_(model="free-model").ask().status == 200


def test_days_begin_at_midnight_in_the_workspaces_time_zone(site: Site) -> None:
    caller = site.members_caller()
    zone = "Asia/Kathmandu"
    site.office.do("set_timezone", workspace_id=caller.workspace_id, timezone=zone)
    site.office.do("budget", level="workspace", key_id=caller.key_id, daily_limit_nusd=1)

    refused = call(caller)

    assert_refused(refused, 402, "key_limit_exceeded")
    resets_at = datetime.fromisoformat(refused.error["details"]["resets_at"])
    assert resets_at.astimezone(ZoneInfo(zone)).time() == time(0)


def test_a_refused_call_is_written_down_and_holds_nothing(site: Site) -> None:
    caller = site.limited_caller(daily_limit_nusd=1)

    answer = call(caller)

    assert_written_down(site, caller, answer)
    site.office.do("limit_key", key_id=caller.key_id)
    wait_until(lambda: call(caller).status == 200, what="no limit")


def test_many_at_once_do_not_spend_more(site: Site) -> None:
    limit_nusd = 12 * COST_NUSD
    caller = site.limited_caller(daily_limit_nusd=limit_nusd)

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda n: call(caller, stream=bool(n % 2)), range(80)))

    served = [answer for answer in answers if answer.status == 200]
    assert {a.error["code"] for a in answers if a.status != 200} == {"key_limit_exceeded"}
    assert 1 <= len(served) <= 12
    wait_for_spent(site, caller, len(served) * COST_NUSD)


def test_what_running_calls_hold_counts(site: Site) -> None:
    limit_nusd = 300 * OUTPUT_NUSD
    caller = site.limited_caller(daily_limit_nusd=limit_nusd)
    with caller.begin("script:endless&delay_ms=200", stream=True, max_tokens=200) as running:
        running.wait_for_tokens(1)

        refused = caller.ask(PROMPT, max_tokens=150)

        assert_refused(refused, 402, "key_limit_exceeded")
        assert "held for running calls" in refused.error["message"]
        running.leave()
    wait_until(lambda: caller.ask(PROMPT, max_tokens=150).status == 200, what="the hold to end")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("script", ["script:fail=400", "script:fail=500", "script:reset_after=2"])
def test_a_call_that_costs_nothing_counts_for_nothing(
    site: Site, script: str, stream: bool
) -> None:
    caller = site.limited_caller(daily_limit_nusd=3 * COST_NUSD)

    for _ in range(5):
        assert caller.ask(script, max_tokens=TOKENS, stream=stream).status in (200, 400, 502)

    assert call(caller).status == 200
    wait_for_spent(site, caller, COST_NUSD)


def test_what_was_spent_before_there_was_a_limit_counts(site: Site, caller: Caller) -> None:
    served = [call(caller) for _ in range(4)]
    script = f"script:tokens=9&stall_after=2&gate={caller.key_id}"
    running = caller.begin(script, stream=True, max_tokens=TOKENS)
    running.wait_for_tokens(2)

    site.office.do("limit_key", key_id=caller.key_id, total_limit_nusd=4 * COST_NUSD + 1)

    wait_until(lambda: call(caller).status == 402, what="the limit")
    site.upstream.open_gate(caller.key_id)
    assert running.answer().is_whole
    # The call that ran meanwhile was let in without a limit and is counted all the same.
    site.record(running.call_id)
    total_nusd = site.office.do("spent", key_id=caller.key_id)[3]
    hold_nusd = held_nusd(site, served[0])
    site.office.do("limit_key", key_id=caller.key_id, total_limit_nusd=total_nusd + hold_nusd)
    wait_until(lambda: call(caller).status == 200, what="the new limit")
    assert {call(caller).status for _ in range(3)} == {402}


def test_a_raised_limit_is_obeyed_and_nothing_counted_is_forgotten(site: Site) -> None:
    caller = site.limited_caller(total_limit_nusd=5 * COST_NUSD)
    before = len(call_until_refused(caller)) - 1

    site.office.do("limit_key", key_id=caller.key_id, total_limit_nusd=9 * COST_NUSD)

    wait_until(lambda: call(caller).status == 200, what="the new limit")
    after = len(call_until_refused(caller)) - 1
    assert before + 1 + after == len_for(9 * COST_NUSD, site, caller)


def len_for(limit_nusd: int, site: Site, caller: Caller) -> int:
    """Return how many calls fit into a limit: what one holds has to be left for the last."""
    holds = {r["hold_nusd"] for r in site.records(caller) if r["status"] == "ok"}
    [hold] = holds
    return (limit_nusd - int(hold)) // COST_NUSD + 1


@pytest.mark.parametrize("owner", OWNERS)
def test_a_raise_lets_more_be_spent_and_ends_by_itself(site: Site, owner: str) -> None:
    caller = site.members_caller()
    limits = {"daily_limit_nusd": 3 * COST_NUSD}
    site.office.do("budget", level=owner, key_id=caller.key_id, **limits)
    before = len(call_until_refused(caller)) - 1
    most = 1_000

    until = site.office.do(
        "raise_budget", level=owner, key_id=caller.key_id, amount_nusd=most * COST_NUSD, for_s=3
    )

    wait_until(lambda: call(caller).status == 200, what="the raise")
    wait_until(lambda: call(caller).status == 402, what="the end of the raise")
    assert {call(caller).status for _ in range(3)} == {402}
    served = [record for record in site.records(caller) if record["status"] == "ok"]
    assert before < len(served) < most
    assert max(record["created_at"] for record in served) < until


def test_a_total_is_counted_from_nothing_again_by_hand(site: Site) -> None:
    caller = site.limited_caller(total_limit_nusd=4 * COST_NUSD)
    first = len(call_until_refused(caller)) - 1
    wait_for_spent(site, caller, first * COST_NUSD)

    assert site.office.do("reset_total", key_id=caller.key_id)

    wait_until(lambda: call(caller).status == 200, what="the total to be set back")
    assert len(call_until_refused(caller)) == first
    wait_for_spent(site, caller, 2 * first * COST_NUSD)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_spent_is_known_after_a_restart(own_site: Site, end: str) -> None:
    caller = own_site.limited_caller(monthly_limit_nusd=9 * COST_NUSD)
    first = [call(caller) for _ in range(5)]
    getattr(own_site.gateway, end)()
    own_site.gateway.restart()

    rest = call_until_refused(caller)

    assert {answer.status for answer in first} == {200}
    assert rest[-1].status == 402
    assert len(first) + len(rest) - 1 == len_for(9 * COST_NUSD, own_site, caller)
    assert_refused(call(caller), 402, "key_limit_exceeded")
