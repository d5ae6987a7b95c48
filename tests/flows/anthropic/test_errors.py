"""What the Messages API refuses, fails at or breaks off, and what the caller is told of it."""

from __future__ import annotations

import pytest

from tests.flows.anthropic.conftest import ADAPTIVE
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
from tests.flows.transports import both_transports, named
from tests.flows.whole_message import BOTH

pytestmark = both_transports

TOO_LONG = "prompt+is+too+long:+207791+tokens+>+200000+maximum"
EXCEED = "input+length+and+`max_tokens`+exceed+context+limit:+199759+%2B+8192+>+200000"
CREDIT = "Your+credit+balance+is+too+low+to+access+the+Anthropic+API."
CASES: list[Refusal] = [
    ("fail=400", 400, "invalid_request", None),
    ("fail=404", 400, "invalid_request", None),
    ("fail=413", 400, "invalid_request", None),
    (f"fail=400&message={TOO_LONG}", 400, "context_length_exceeded", None),
    (f"fail=400&message={EXCEED}", 400, "context_length_exceeded", None),
    ("fail=400&message=Output+blocked+by+content+filtering+policy", 400, "content_filter", None),
    ("fail=401", 502, "provider_auth", None),
    ("fail=403", 502, "provider_auth", None),
    ("fail=402", 502, "provider_auth", None),
    (f"fail=400&message={CREDIT}", 502, "provider_auth", None),
    ("fail=429&retry_after=7", 429, "provider_rate_limit", "7"),
    ("fail=529&retry_after=3", 529, "provider_overloaded", "3"),
    ("fail=529", 529, "provider_overloaded", "1"),
    ("fail=500", 502, "provider_unavailable", None),
    ("fail=504", 504, "provider_timeout", None),
    ("fail=500&body=html", 502, "provider_unavailable", None),
    ("fail=429&body=broken", 429, "provider_rate_limit", "1"),
]


@BOTH
@refusals(CASES)
def test_each_refusal_has_its_meaning(
    claude_site: Site, claude: Caller, refusal: Refusal, stream: bool
) -> None:
    assert_refused(claude_site, claude, refusal, stream=stream)


def test_the_apis_own_words_are_told_where_the_request_was_at_fault(
    claude: Caller, transport: str
) -> None:
    answer = claude.with_(model=named(ADAPTIVE, transport)).ask(
        messages=[
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "So"},
        ]
    )

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "does not support assistant message prefill" in answer.error["message"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "provider_overloaded"),
        ("api_error", "provider_unavailable"),
        ("rate_limit_error", "provider_rate_limit"),
        ("timeout_error", "provider_timeout"),
        ("brand_new_error", "provider_unavailable"),
    ],
)
def test_an_error_inside_a_stream_is_told_behind_what_came_before(
    claude_site: Site, claude: Caller, kind: str, code: str
) -> None:
    assert_error_in_stream(claude_site, claude, reported=kind, code=code)


def test_an_error_before_anything_was_said_is_an_answer_of_its_own(claude: Caller) -> None:
    answer = claude.stream("script:error_after=0")

    told = answer.error if answer.status != 200 else answer.events[-2]["error"]
    assert told["code"] == "provider_overloaded"


@pytest.mark.parametrize(
    "fault",
    [
        *("truncate", "reset_after=2", "truncate_after=2", "close_after=2"),
        *("sse=badjson", "sse=badutf8", "sse=notobject"),
    ],
)
def test_a_stream_that_breaks_off_is_the_providers_failure(
    claude_site: Site, claude: Caller, fault: str
) -> None:
    assert_broken_stream(claude_site, claude, fault)


@BROKEN_ANSWERS
def test_a_broken_answer_is_the_providers_failure(claude: Caller, fault: str) -> None:
    assert_broken_answer(claude, fault)


@BOTH
@pytest.mark.parametrize("status", [400, 401, 500])
def test_the_key_is_not_told(claude: Caller, status: int, stream: bool) -> None:
    answer = claude.ask(f"script:fail={status}&message=No+{CREDENTIAL}+here", stream=stream)

    assert CREDENTIAL not in answer.body.decode()
    assert "2023-06-01" not in answer.body.decode()
