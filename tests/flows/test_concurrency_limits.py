"""Calls at once: those beyond the limit wait for their turn, and no place is ever lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.site import Site, running_site
from tests.flows.test_admission import assert_refused
from tests.support.waiting import wait_until

SLOW = "script:tokens=5&delay_ms=30"
HANG = "script:hang"
ENDLESS = "script:endless&delay_ms=20"


def most_at_once(site: Site, calls: list[Answer]) -> int:
    """Return how many of these calls the upstream had before it at one time."""
    ids = {call.call_id for call in calls}
    moments: list[tuple[float, int]] = []
    for entry in site.upstream.book():
        if entry["request_id"] in ids:
            began_s = entry["started_s"]
            moments += [(began_s, 1), (began_s + entry["ended_after_ms"] / 1000, -1)]
    running = most = 0
    for _, step in sorted(moments):
        running += step
        most = max(most, running)
    return most


def all_at_once(caller: Caller, count: int, ask: Callable[[Caller, int], Answer]) -> list[Answer]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: ask(caller, number), range(count)))


def let_in(caller: Caller) -> int:
    """Return how many calls of the caller run or wait: all of them took one of its requests."""
    probe = caller.ask(temperature=9)
    return int(probe.headers["x-ratelimit-limit"]) - int(probe.headers["x-ratelimit-remaining"])


def begin_waiting(
    caller: Caller, count: int = 1, *, text: str = "", **options: Any
) -> list[LiveCall]:
    """Return calls that wait for their turn, in this order. text: of their answers, instead of
    their numbers."""
    before, calls = let_in(caller), []
    for number in range(1, count + 1):
        calls.append(caller.begin(f"script:text={text or number}", **{"max_tokens": 5} | options))
        wait_until(lambda: let_in(caller) == before + len(calls), what="a call to wait")
    return calls


@pytest.fixture
def single(site: Site) -> Caller:
    """A caller that may have one call running, and whose requests are counted (see let_in)."""
    return limited(site)


def limited(site: Site) -> Caller:
    return site.limited_caller(max_concurrent=1, max_requests_per_minute=1, burst=1000)


@pytest.fixture
def running(site: Site, single: Caller) -> Iterator[LiveCall]:
    """A call that has the caller's only place until somebody ends it."""
    with single.begin(ENDLESS, stream=True, max_tokens=5000) as call:
        call.wait_for_tokens(1)
        yield call


def assert_place_is_free(caller: Caller) -> None:
    """Assert that a call gets its turn."""
    assert caller.ask(max_tokens=5).status == 200


def test_200_at_once_are_5_at_a_time_for_the_provider(site: Site) -> None:
    caller = site.limited_caller(max_concurrent=5)

    answers = all_at_once(
        caller, 200, lambda who, number: who.ask(SLOW, stream=bool(number % 2), max_tokens=5)
    )

    served = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status != 200]
    assert len(served) >= 105  # 5 that ran, 100 that waited
    assert {(a.status, a.error["code"]) for a in refused} <= {(429, "concurrency_limit_exceeded")}
    assert most_at_once(site, served) == 5
    assert_place_is_free(caller)


def test_a_call_that_waited_says_how_long(site: Site, single: Caller, running: LiveCall) -> None:
    waiting = begin_waiting(single, 2, stream=True) + begin_waiting(single, 2)

    running.leave()
    answers = [call.answer() for call in waiting]

    assert {answer.status for answer in answers} == {200}
    waited = [told_queued_ms(answer) for answer in answers]
    assert all(ms > 0 for ms in waited)
    for answer, queued_ms in zip(answers, waited, strict=True):
        record = site.record(answer.call_id)
        # Rounded, and a millisecond less where the parts would add up to more than the total.
        assert abs(record["queued_us"] - 1000 * queued_ms) <= 1500
        parts = ("admit_us", "queued_us", "failed_us", "upstream_us")
        assert sum(record[name] for name in parts) <= record["total_us"]


def told_queued_ms(answer: Answer) -> int:
    """Return how long a call has waited, as its answer says it."""
    if answer.headers["content-type"] == "application/json":
        timings = answer.json["timings"]
        parts = ("upstream_ms", "queued_ms", "failed_ms", "gateway_ms")
        assert timings["total_ms"] == sum(timings.get(name, 0) for name in parts)
        assert "x-inferada-queued-ms" not in answer.headers
        return int(timings.get("queued_ms", 0))
    return int(answer.headers.get("x-inferada-queued-ms", 0))


def test_calls_are_served_in_the_order_they_came(
    site: Site, single: Caller, running: LiveCall
) -> None:
    waiting = begin_waiting(single, 5)

    running.leave()
    answers = [call.answer() for call in waiting]

    assert [answer.text for answer in answers] == ["1", "2", "3", "4", "5"]
    begun = {entry["request_id"]: entry["started_s"] for entry in site.upstream.book()}
    order = [begun[answer.call_id] for answer in answers]
    assert order == sorted(order)


def test_who_hangs_up_while_waiting_leaves_the_line_at_once(
    site: Site, single: Caller, running: LiveCall
) -> None:
    leaving, staying = begin_waiting(single, 2)

    leaving.leave()

    def find() -> list[dict[str, Any]]:
        return [r for r in site.records(single) if r["error_code"] == "client_cancelled"]

    [record] = wait_until(find, what="the record of who left")
    assert (record["status"], record["http_status"], record["charge_nusd"]) == ("refused", 499, 0)
    assert site.tries(str(record["id"])) == []
    running.leave()
    assert staying.answer().status == 200
    assert_place_is_free(single)


def test_a_whole_line_that_hangs_up_leaves_nothing_behind(
    site: Site, single: Caller, running: LiveCall
) -> None:
    waiting = begin_waiting(single, 20)
    for position, call in enumerate(waiting):
        call.reset() if position % 2 else call.leave()
        if position == 10:
            running.leave()

    assert_place_is_free(single)
    # That nothing is held any more is seen when the site closes.


def test_nobody_waits_longer_than_may_be(impatient_site: Site) -> None:
    caller = impatient_site.limited_caller(max_concurrent=1)
    with caller.begin(ENDLESS, stream=True) as running:
        running.wait_for_tokens(1)

        answer = caller.ask(max_tokens=5)

        assert_refused(answer, 429, "concurrency_limit_exceeded")
        assert answer.error["details"] == {
            "model_id": "fake-model",
            "level": "token",
            "limit": {
                "metric": "concurrent_requests",
                "period": None,
                "max": 1,
                "per_request": False,
            },
            "current": 1,
            "requested": 1,
        }
        assert impatient_site.tries(answer.call_id) == []
        running.leave()
    wait_until(lambda: caller.ask(max_tokens=5).status == 200, what="the place to be free")


def test_no_more_wait_than_may(impatient_site: Site) -> None:
    caller = impatient_site.limited_caller(max_concurrent=1)

    with caller.begin(ENDLESS, stream=True) as running:
        running.wait_for_tokens(1)
        answers = all_at_once(caller, 9, lambda who, _: who.ask(max_tokens=5))

    assert {answer.status for answer in answers} == {429}
    words = {answer.error["message"] for answer in answers}
    assert len(words) == 2  # none ended in time; the queue is full


ENDS = {
    "answered": SLOW,
    "refused by the provider": "script:fail=400",
    "failed": "script:fail=500",
    "broken off": "script:reset_after=2",
    "empty": "script:tokens=0",
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_however_a_call_ends_its_place_is_free(single: Caller, script: str, stream: bool) -> None:
    for _ in range(3):
        single.ask(script, stream=stream, max_tokens=20)

    assert_place_is_free(single)


def test_a_call_refused_for_another_reason_takes_no_place(site: Site) -> None:
    poor = site.limited_caller(credit_nusd=0, max_concurrent=1)

    assert {poor.ask().status for _ in range(5)} == {402}

    assert_place_is_free(poor.with_(model="free-model"))


def test_the_keys_of_a_workspace_share_its_places(site: Site, single: Caller) -> None:
    site.office.do("limit_workspace", workspace_id=single.workspace_id, max_concurrent=2)
    other = site.another_key(single.workspace_id)

    answers = all_at_once(
        single,
        12,
        lambda who, number: (who if number % 2 else other).ask(SLOW, max_tokens=5),
    )

    assert {answer.status for answer in answers} == {200}
    assert most_at_once(site, answers) <= 2
    assert most_at_once(site, [a for n, a in enumerate(answers) if n % 2]) == 1


def test_a_raised_limit_lets_the_line_in(site: Site, single: Caller, running: LiveCall) -> None:
    [waiting] = begin_waiting(single)

    site.office.do("limit_key", key_id=single.key_id, max_concurrent=2)

    assert waiting.answer().status == 200
    running.wait_for_tokens(3)


def test_a_lowered_limit_is_obeyed(site: Site) -> None:
    caller = site.limited_caller(max_concurrent=50)
    assert caller.ask(max_tokens=5).status == 200

    site.office.do("limit_key", key_id=caller.key_id, max_concurrent=2, max_requests_per_minute=900)
    wait_until(lambda: "x-ratelimit-limit" in caller.ask(temperature=9).headers, what="the limit")

    answers = all_at_once(caller, 20, lambda who, _: who.ask(SLOW, max_tokens=5))
    assert most_at_once(site, answers) == 2


def test_a_revoked_key_is_refused_in_the_line_too(
    site: Site, single: Caller, running: LiveCall
) -> None:
    waiting = begin_waiting(single, 3)

    site.office.do("revoke", key_id=single.key_id)

    answers = [call.answer() for call in waiting]
    assert {(a.status, a.error["code"]) for a in answers} == {(401, "invalid_api_key")}


def test_a_locked_workspace_is_refused_in_the_line_too(
    site: Site, single: Caller, running: LiveCall
) -> None:
    [waiting] = begin_waiting(single)
    other = site.another_key(single.workspace_id)
    assert other.ask(max_tokens=5).status == 200
    site.office.do("lock", workspace_id=single.workspace_id)
    wait_until(lambda: other.ask(max_tokens=5).status == 403, what="the lock")

    running.leave()

    assert waiting.answer().error["code"] == "workspace_locked"


def test_a_server_that_stops_tells_who_waits(home: Path) -> None:
    with running_site(home, {"TOLLHOUSE_DRAIN_S": "1"}) as site:
        caller = limited(site)
        with caller.begin(HANG) as call:
            site.running(caller, count=1)
            waiting = begin_waiting(caller, 3)

            site.gateway.process.send_signal(signal.SIGTERM)

            answers = [one.answer() for one in (call, *waiting)]
        assert site.gateway.stop() in (0, -signal.SIGTERM)
        assert {(a.status, a.error["code"]) for a in answers} == {(503, "server_restarting")}
        assert "Traceback" not in site.gateway.log.read_text()
        assert site.office.do("drawn_nusd") == 0
