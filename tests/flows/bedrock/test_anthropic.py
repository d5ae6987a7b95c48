"""Claude on Bedrock in Anthropic's own format: the same Messages, by InvokeModel."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.anthropic.asking import text
from tests.flows.asking import ECHO
from tests.flows.bedrock.conftest import CLAUDE, INVOKED, NATIVE
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports, named
from tests.flows.whole_message import BOTH, message_of


@pytest.fixture
def claude(bedrock_site: Site, transport: str) -> Caller:
    return bedrock_site.caller().with_(model=named(INVOKED, transport))


@both_transports
@BOTH
def test_the_request_is_bedrocks(claude: Caller, stream: bool) -> None:
    echo = claude.ask(messages=[ECHO], max_tokens=9, stream=stream).echo

    action = "invoke-with-response-stream" if stream else "invoke"
    model = NATIVE[CLAUDE].replace(":", "%3A")
    assert echo["path"] == f"/bedrock/model/{model}/{action}"
    headers = {name.lower(): value for name, value in echo["headers"]}
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert not {"x-api-key", "anthropic-version"} & headers.keys()
    body: dict[str, Any] = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [text("script:echo")]}],
    }
    assert json.loads(echo["body_text"]) == body


@both_transports
def test_a_messages_request_goes_through_as_it_is(claude: Caller, transport: str) -> None:
    asked = {
        "model": named(INVOKED, transport),
        "max_tokens": 5_000,
        "thinking": {"type": "enabled", "budget_tokens": 2_000},
        "messages": [{"role": "user", "content": "script:echo"}],
    }
    answer = claude.ask(
        raw=json.dumps(asked).encode(),
        path="/v1/messages",
        headers={"anthropic-version": "2023-06-01", "anthropic-beta": "a-1,b-2"},
    )

    assert answer.status == 200, answer.body
    [said] = [block["text"] for block in answer.json["content"] if block["type"] == "text"]
    sent = json.loads(json.loads(said)["body_text"])
    del asked["model"]
    more = {"anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["a-1", "b-2"]}
    assert sent == asked | more


@both_transports
@BOTH
def test_answers_arrive_and_are_paid(bedrock_site: Site, claude: Caller, stream: bool) -> None:
    answer = claude.ask("script:tokens=3&reasoning=2", stream=stream)

    message = message_of(answer)
    assert (message["content"], message["reasoning"]) == ("tok0 tok1 tok2 ", "think0 think1 ")
    record = bedrock_site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["charge_nusd"] == INPUT_NUSD + 5 * OUTPUT_NUSD


@both_transports
@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_stream_is_read_however_it_is_cut(claude: Caller, size: int) -> None:
    assert claude.stream(f"script:tokens=2&chunk_bytes={size}").text == "tok0 tok1 "


@both_transports
@BOTH
@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("fail=400", 400, "invalid_request"),
        ("fail=400&message=Input+is+too+long+for+requested+model.", 400, "context_length_exceeded"),
        ("fail=403", 502, "provider_auth"),
        ("fail=404", 400, "invalid_request"),
        ("fail=429", 429, "provider_rate_limit"),
        ("fail=500", 502, "provider_unavailable"),
    ],
)
def test_each_refusal_has_its_meaning(
    claude: Caller, script: str, status: int, code: str, stream: bool
) -> None:
    answer = claude.ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("error_after=2", "provider_unavailable"),
        ("error_after=2&code=throttlingException", "provider_rate_limit"),
        ("truncate_after=2", "provider_unavailable"),
        ("reset_after=2", "provider_unavailable"),
        ("truncate_at_byte=2200", "provider_unavailable"),
        ("flip_bit=17000", "provider_unavailable"),
        ("plant={", "provider_unavailable"),
    ],
)
def test_a_stream_that_breaks_off_is_the_providers_failure(
    bedrock_site: Site, claude: Caller, fault: str, code: str
) -> None:
    answer = claude.stream(f"script:tokens=4&{fault}")

    assert answer.events[-1] == "[DONE]"
    assert answer.events[-2]["error"]["code"] == code
    assert bedrock_site.record(answer.call_id)["charge_nusd"] == 0
