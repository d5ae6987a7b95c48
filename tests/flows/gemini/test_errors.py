"""What the Gemini API refuses, fails at or breaks off, and what the caller is told of it."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.dialect_checks import (
    BROKEN_ANSWERS,
    Refusal,
    assert_broken_answer,
    assert_broken_stream,
    assert_error_in_stream,
    assert_refused,
    refusals,
)
from tests.flows.site import CREDENTIAL, Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH

TOO_LONG = "The+input+token+count+(1200000)+exceeds+the+maximum+number+of+tokens+allowed+(1048576)."
BAD_KEY = "API+key+not+valid.+Please+pass+a+valid+API+key."
CASES: list[Refusal] = [
    ("fail=400", 400, "invalid_request", None),
    ("fail=404", 400, "invalid_request", None),
    (f"fail=400&message={TOO_LONG}", 400, "context_length_exceeded", None),
    (f"fail=400&message={BAD_KEY}", 502, "provider_auth", None),
    ("fail=400&message=API+key+expired.", 502, "provider_auth", None),
    (
        "fail=400&message=User+location+is+not+supported+for+the+API+use.",
        502,
        "provider_auth",
        None,
    ),
    ("fail=401", 502, "provider_auth", None),
    ("fail=403", 502, "provider_auth", None),
    ("fail=429&retry_delay=37.5s", 429, "provider_rate_limit", "38"),
    ("fail=429&retry_delay=7s&body=array", 429, "provider_rate_limit", "7"),
    ("fail=429&retry_delay=7s&retry_after=3", 429, "provider_rate_limit", "3"),
    ("fail=429&retry_delay=soon", 429, "provider_rate_limit", "1"),
    ("fail=429", 429, "provider_rate_limit", "1"),
    ("fail=503", 529, "provider_overloaded", "1"),
    ("fail=503&retry_after=3", 529, "provider_overloaded", "3"),
    ("fail=504", 504, "provider_timeout", None),
    ("fail=500", 502, "provider_unavailable", None),
    ("fail=500&body=html", 502, "provider_unavailable", None),
    ("fail=429&body=broken", 429, "provider_rate_limit", "1"),
]


@BOTH
@refusals(CASES)
def test_each_refusal_has_its_meaning(
    gemini_site: Site, gemini: Caller, refusal: Refusal, stream: bool
) -> None:
    assert_refused(gemini_site, gemini, refusal, stream=stream)


def test_the_apis_own_words_are_told_where_the_request_was_at_fault(gemini: Caller) -> None:
    answer = gemini.ask(
        stop=["1", "2", "3", "4"], tools=[{"type": "function", "function": {"name": "1"}}]
    )

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "Must start with a letter or an underscore" in answer.error["message"]


@both_transports
@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("UNAVAILABLE", "provider_overloaded"),
        ("INTERNAL", "provider_unavailable"),
        ("RESOURCE_EXHAUSTED", "provider_rate_limit"),
        ("DEADLINE_EXCEEDED", "provider_timeout"),
        ("BRAND_NEW", "provider_unavailable"),
    ],
)
def test_an_error_inside_a_stream_is_told_behind_what_came_before(
    gemini_site: Site, gemini: Caller, status: str, code: str
) -> None:
    assert_error_in_stream(gemini_site, gemini, reported=status, code=code)


@both_transports
@pytest.mark.parametrize(
    "fault",
    [
        *("truncate", "reset_after=2", "truncate_after=2", "close_after=2"),
        *("sse=badjson", "sse=notobject"),
        'plant={"candidates":[{"index":999}]}',
        'plant={"candidates":[{"content":{"parts":[{"functionCall":7}]}}]}',
    ],
)
def test_a_stream_that_breaks_off_is_the_providers_failure(
    gemini_site: Site, gemini: Caller, fault: str
) -> None:
    assert_broken_stream(gemini_site, gemini, fault)


@BROKEN_ANSWERS
def test_a_broken_answer_is_the_providers_failure(gemini: Caller, fault: str) -> None:
    assert_broken_answer(gemini, fault)


@BOTH
@pytest.mark.parametrize("status", [400, 401, 500])
def test_the_key_is_not_told(gemini: Caller, status: int, stream: bool) -> None:
    answer = gemini.ask(f"script:fail={status}&message=No+{CREDENTIAL}+here", stream=stream)

    assert CREDENTIAL not in answer.body.decode()
