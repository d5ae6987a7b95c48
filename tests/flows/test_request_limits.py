"""Calls a minute: what a caller is told, what a refusal is, and that changes are obeyed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from gateway.http.rate_headers import write_duration
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site
from tests.flows.test_admission import assert_refused
from tests.support.waiting import wait_until

LIMIT, REMAINING, RESET = "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"


def standing(answer: Answer) -> tuple[int, int]:
    """Return limit and remaining."""
    return int(answer.headers[LIMIT]), int(answer.headers[REMAINING])


def as_openai_says(answer: Answer) -> list[str]:
    """Return limit, remaining and reset in the spelling of OpenAI."""
    return [answer.headers[f"{name}-requests"] for name in (LIMIT, REMAINING, RESET)]


def assert_says_nothing(answer: Answer) -> None:
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]


@pytest.fixture
def limited(site: Site) -> Caller:
    """A caller that may call once a minute, three times at once."""
    return site.limited_caller(max_requests_per_minute=1, burst=3)


def test_a_burst_passes_and_then_calls_are_refused(site: Site, limited: Caller) -> None:
    passed = [limited.ask(max_tokens=5) for _ in range(3)]
    refused = limited.ask(max_tokens=5)

    assert [(answer.status, standing(answer)) for answer in passed] == [
        (200, (3, 2)),
        (200, (3, 1)),
        (200, (3, 0)),
    ]
    assert_refused(refused, 429, "rate_limit_exceeded")
    assert standing(refused) == (3, 0)
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert 60 < int(refused.headers[RESET]) - time.time() <= 181
    assert refused.error["details"] == {
        "model_id": "fake-model",
        "level": "token",
        "limit": {"metric": "requests", "period": "minute", "max": 1, "per_request": False},
        "current": 3,
        "requested": 1,
    }
    records = {str(record["id"]): record for record in site.records(limited, count=4)}
    record = records[refused.call_id]
    assert (record["status"], record["http_status"], record["hold_nusd"]) == ("refused", 429, 0)
    assert record["error_code"] == "rate_limit_exceeded"
    assert site.tries(refused.call_id) == []


def test_openais_headers_are_as_openais(site: Site) -> None:
    one_a_minute = site.limited_caller(max_requests_per_minute=1, burst=3)
    many = site.limited_caller(max_requests_per_minute=600, burst=1000)
    few = site.limited_caller(max_requests_per_minute=60, burst=5)

    said = [as_openai_says(one_a_minute.ask(max_tokens=5)) for _ in range(3)]

    assert [limit for limit, _, _ in said] == ["1"] * 3
    assert [remaining for _, remaining, _ in said] == ["1", "1", "0"]
    # A minute more with every call, less what the calls have taken.
    assert all(re.fullmatch(r"([1-3]m)?[1-5]?[0-9]s", reset) for _, _, reset in said)
    assert said[2][2].startswith(("1m", "2m", "3m"))
    assert as_openai_says(many.ask(max_tokens=5))[:2] == ["600", "600"]
    assert as_openai_says(few.ask(temperature=9)) == ["60", "5", "0s"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, b"0s"), (1, b"1s"), (59, b"59s"), (360, b"6m0s"), (3661, b"1h1m1s")]
)
def test_a_duration_is_written_as_openai_does(seconds: int, said: bytes) -> None:
    assert write_duration(seconds) == said


def test_every_answer_says_how_many_are_left(site: Site, limited: Caller) -> None:
    answers = {
        "malformed": limited.ask(temperature=9),
        "unknown": limited.with_(model="gpt-999").ask(),
        "beside": limited.ask(method="GET", path="/v1/models", raw=b""),
        "nowhere": limited.ask(method="GET", path="/v1/nothing", raw=b""),
        "streamed": limited.stream(max_tokens=5),
        "failed": limited.ask("script:fail=500"),
    }

    assert {name: answer.status for name, answer in answers.items()} == {
        "malformed": 400,
        "unknown": 404,
        "beside": 200,
        "nowhere": 404,
        "streamed": 200,
        "failed": 502,
    }
    # What is refused takes nothing; nor does what calls no model.
    assert [standing(answer)[1] for answer in answers.values()] == [3, 3, 3, 3, 2, 1]


def test_who_is_under_no_limit_or_may_not_come_in_is_told_nothing(
    site: Site, caller: Caller, limited: Caller
) -> None:
    site.office.do("revoke", key_id=limited.key_id)

    assert_says_nothing(caller.ask(max_tokens=5))
    refused = limited.ask()

    assert refused.status == 401
    assert_says_nothing(refused)


def test_a_call_refused_for_another_reason_takes_nothing(site: Site) -> None:
    poor = site.limited_caller(credit_nusd=0, max_requests_per_minute=1, burst=2)
    free = poor.with_(model="free-model")

    refused = [poor.ask() for _ in range(5)]
    passed = free.ask(max_tokens=5)

    assert {answer.error["code"] for answer in refused} == {"insufficient_credits"}
    assert (passed.status, standing(passed)) == (200, (2, 1))


def test_an_answer_given_again_takes_nothing(limited: Caller) -> None:
    key = {"idempotency-key": "once"}
    first = limited.ask(headers=key)

    again = limited.ask(headers=key)

    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    assert standing(again) == standing(first) == (3, 2)


def test_the_keys_of_a_workspace_share_its_limit(site: Site, caller: Caller) -> None:
    site.office.do("limit_workspace", workspace_id=caller.workspace_id, max_requests_per_minute=2)
    other = site.another_key(caller.workspace_id)
    site.office.do("limit_key", key_id=other.key_id, max_requests_per_minute=100)

    passed = [who.with_(model="free-model").ask() for who in (caller, other)]
    refused = [who.ask() for who in (caller, other)]

    assert [(answer.status, standing(answer)) for answer in passed] == [
        (200, (2, 1)),
        (200, (2, 0)),
    ]
    for answer in refused:
        assert_refused(answer, 429, "rate_limit_exceeded")
        assert answer.error["details"]["level"] == "organisation"
    assert site.caller().ask(max_tokens=5).status == 200


def test_a_changed_limit_is_obeyed_and_nothing_counted_is_forgotten(
    site: Site, limited: Caller
) -> None:
    assert [limited.ask(max_tokens=5).status for _ in range(4)] == [200, 200, 200, 429]

    site.office.do("limit_key", key_id=limited.key_id, max_requests_per_minute=1, burst=5)

    wait_until(lambda: limited.ask(temperature=9).headers[LIMIT] == "5", what="the new limit")
    assert [limited.ask(max_tokens=5).status for _ in range(3)] == [200, 200, 429]
    site.office.do("limit_key", key_id=limited.key_id)
    wait_until(lambda: LIMIT not in limited.ask(temperature=9).headers, what="no limit")
    assert {limited.ask(max_tokens=5).status for _ in range(5)} == {200}


def test_an_installation_may_limit_all_keys_that_have_no_limit(home: Path) -> None:
    env = {"TOLLHOUSE_KEY_REQUESTS_PER_MINUTE": "1", "TOLLHOUSE_KEY_BURST": "2"}
    with running_site(home, env) as site:
        plain, own = site.caller(), site.limited_caller(max_requests_per_minute=7)

        answers = [plain.ask(max_tokens=5) for _ in range(3)]

        assert [answer.status for answer in answers] == [200, 200, 429]
        assert standing(own.ask(max_tokens=5)) == (7, 6)
