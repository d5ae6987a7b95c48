"""What Bedrock refuses, fails at or breaks off, and what the caller is told of it."""

from __future__ import annotations

import pytest

from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.flows.bedrock.conftest import SESSION_TOKEN
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

TOO_LONG = "Input+is+too+long+for+requested+model."
CLAUDE_TOO_LONG = "prompt+is+too+long:+200049+tokens+>+200000+maximum"
CASES: list[Refusal] = [
    ("fail=400", 400, "invalid_request", None),
    ("fail=404", 400, "invalid_request", None),
    (f"fail=400&message={TOO_LONG}", 400, "context_length_exceeded", None),
    (f"fail=400&message={CLAUDE_TOO_LONG}", 400, "context_length_exceeded", None),
    ("fail=400&message=Blocked+by+our+content+filters", 400, "content_filter", None),
    ("fail=400&code=ServiceQuotaExceededException", 429, "provider_rate_limit", "1"),
    ("fail=400&code=ExpiredTokenException", 502, "provider_auth", None),
    ("fail=403", 502, "provider_auth", None),
    ("fail=408", 504, "provider_timeout", None),
    ("fail=424", 502, "provider_unavailable", None),
    ("fail=429", 429, "provider_rate_limit", "1"),
    ("fail=429&retry_after=7", 429, "provider_rate_limit", "7"),
    ("fail=429&code=ModelNotReadyException", 529, "provider_overloaded", "1"),
    ("fail=500", 502, "provider_unavailable", None),
    ("fail=503", 502, "provider_unavailable", None),
    ("fail=500&body=html", 502, "provider_unavailable", None),
    ("fail=429&body=broken", 429, "provider_rate_limit", "1"),
]


@both_transports
@BOTH
@refusals(CASES)
def test_each_refusal_has_its_meaning(
    bedrock_site: Site, bedrock: Caller, refusal: Refusal, stream: bool
) -> None:
    assert_refused(bedrock_site, bedrock, refusal, stream=stream)


def test_the_services_own_words_are_told_where_the_request_was_at_fault(bedrock: Caller) -> None:
    answer = bedrock.ask("script:fail=400&message=The+picture+has+too+many+legs")

    assert "too many legs" in answer.error["message"]


@both_transports
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("throttlingException", "provider_rate_limit"),
        ("validationException", "invalid_request"),
        ("serviceUnavailableException", "provider_unavailable"),
        ("internalServerException", "provider_unavailable"),
        ("modelStreamErrorException", "provider_unavailable"),
        ("modelTimeoutException", "provider_timeout"),
        ("brandNewException", "provider_unavailable"),
        ("error:InternalFailure", "provider_unavailable"),
        ("error:ThrottlingException", "provider_rate_limit"),
    ],
)
def test_an_exception_inside_a_stream_is_told_behind_what_came_before(
    bedrock_site: Site, bedrock: Caller, name: str, code: str
) -> None:
    assert_error_in_stream(bedrock_site, bedrock, reported=name, code=code)


@both_transports
@pytest.mark.parametrize(
    "fault",
    [
        *("truncate", "reset_after=2", "truncate_after=2", "close_after=2"),
        *("truncate_at_byte=500", "close_at_byte=501", "reset_at_byte=502"),
        *("plant=contentBlockDelta {", "plant=contentBlockDelta 7", "plant=messageStop {}"),
    ],
)
def test_a_stream_that_breaks_off_is_the_providers_failure(
    bedrock_site: Site, bedrock: Caller, fault: str
) -> None:
    assert_broken_stream(bedrock_site, bedrock, fault)


@BROKEN_ANSWERS
def test_a_broken_answer_is_the_providers_failure(bedrock: Caller, fault: str) -> None:
    assert_broken_answer(bedrock, fault)


@BOTH
@pytest.mark.parametrize("status", [400, 403, 500])
def test_the_key_is_not_told(bedrock: Caller, status: int, stream: bool) -> None:
    answer = bedrock.ask(f"script:fail={status}&message=No+{CREDENTIAL}+here", stream=stream)

    assert CREDENTIAL not in answer.body.decode()


@BOTH
@pytest.mark.parametrize("secret", [ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN])
def test_what_signed_a_request_is_not_told(signed: Caller, secret: str, stream: bool) -> None:
    quoted = secret.replace("+", "%2B").replace("=", "%3D")
    answer = signed.ask(f"script:fail=400&message=No+{quoted}+in+eu-central-1", stream=stream)

    assert secret not in answer.body.decode()
    assert "in eu-central-1" in answer.error["message"]


def test_a_signature_is_not_told(signed: Caller) -> None:
    headers = dict(signed.ask("script:echo").echo["headers"])

    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=")
    assert headers["x-amz-security-token"] == SESSION_TOKEN
