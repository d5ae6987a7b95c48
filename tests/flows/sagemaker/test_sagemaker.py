"""What endpoints are sent, and what comes of their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.flows.asking import LOOK_UP
from tests.flows.aws import AWS_KEYS, HOSTED_OPENAI, HOSTED_TGI
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import TRANSPORTS, add_provider, both_transports, named
from tests.flows.whole_message import BOTH, message_of

OPENAI, TGI, LINES = "on-openai", "tgi-on-sagemaker", "on-openai-lines"
SERVERS = {OPENAI: HOSTED_OPENAI, TGI: HOSTED_TGI, LINES: HOSTED_OPENAI}


@pytest.fixture(scope="module")
def hosted_site(site: Site) -> Site:
    for transport in TRANSPORTS:
        for name, settings in SERVERS.items():
            provider = add_provider(
                site,
                f"sagemaker-{name}",
                transport=transport,
                kind="aws_sagemaker",
                base_url=f"{site.upstream.origin}/sagemaker",
                settings=settings,
                credential=AWS_KEYS,
            )
            native = f"{name}/meta-llama/Llama-3"
            site.add_model(named(name, transport), provider=provider, native_model=native)
    return site


@pytest.fixture
def caller(hosted_site: Site) -> Caller:
    return hosted_site.caller()


@both_transports
@BOTH
@pytest.mark.parametrize("server", SERVERS)
def test_a_signed_call_reaches_the_server(
    caller: Caller, transport: str, server: str, stream: bool
) -> None:
    echo = caller.with_(model=named(server, transport)).ask("script:echo", stream=stream).echo

    action = "invocations-response-stream" if stream else "invocations"
    assert echo["path"] == f"/sagemaker/endpoints/{server}/{action}"
    body = json.loads(echo["body_text"])
    assert body["model"] == "meta-llama/Llama-3"
    assert body["messages"] == [{"role": "user", "content": "script:echo"}]
    assert body.get("stream", False) == stream


@both_transports
@BOTH
@pytest.mark.parametrize("server", SERVERS)
def test_answers_arrive_and_are_paid(
    hosted_site: Site, caller: Caller, transport: str, server: str, stream: bool
) -> None:
    answer = caller.with_(model=named(server, transport)).ask("script:tokens=5", stream=stream)

    assert message_of(answer)["content"] == "tok0 tok1 tok2 tok3 tok4 "
    record = hosted_site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["charge_nusd"] == INPUT_NUSD + 5 * OUTPUT_NUSD


@BOTH
@pytest.mark.parametrize("server", [OPENAI, TGI, LINES])
def test_calls_of_tools_arrive(caller: Caller, server: str, stream: bool) -> None:
    asked = caller.with_(model=server).ask("script:tools=1", stream=stream, tools=[LOOK_UP])

    message = message_of(asked)
    assert message["finish_reason"] == "tool_calls"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"city": "Paris"}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("size", [1, 13, 64])
def test_a_stream_is_read_however_it_is_cut(caller: Caller, server: str, size: int) -> None:
    answer = caller.with_(model=server).stream(f"script:tokens=3&chunk_bytes={size}")

    assert message_of(answer)["content"] == "tok0 tok1 tok2 "


def test_a_schema_goes_in_the_servers_words(caller: Caller) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    echo = caller.with_(model=TGI).ask("script:echo", response_format=form).echo

    body = json.loads(echo["body_text"])
    assert body["response_format"] == {"type": "json", "value": schema}


def test_a_choice_is_the_choice_alone(caller: Caller) -> None:
    answer = caller.with_(model=OPENAI).ask("Well?", guided_choice=["yes", "no"])

    assert message_of(answer)["content"] == "yes"


@BOTH
@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        # What the server behind the endpoint answers.
        ("fail=400", 400, "invalid_request"),
        ("fail=422&message=`inputs`+must+have+less+than+9", 400, "context_length_exceeded"),
        ("fail=429&code=overloaded", 529, "provider_overloaded"),
        ("fail=500", 502, "provider_unavailable"),
        # What the platform answers.
        ("fail=400&code=ValidationError", 400, "invalid_request"),
        ("fail=403&code=AccessDeniedException", 502, "provider_auth"),
        ("fail=429&code=ThrottlingException", 429, "provider_rate_limit"),
        ("fail=429&code=ModelNotReadyException", 529, "provider_overloaded"),
        ("fail=500&code=InternalFailure", 502, "provider_unavailable"),
        ("fail=503&code=ServiceUnavailable", 502, "provider_unavailable"),
        ("fail=530&code=InternalDependencyException", 502, "provider_unavailable"),
    ],
)
def test_each_refusal_has_its_meaning(
    hosted_site: Site, caller: Caller, script: str, status: int, code: str, stream: bool
) -> None:
    answer = caller.with_(model=TGI).ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert hosted_site.record(answer.call_id)["charge_nusd"] == 0


@both_transports
@pytest.mark.parametrize(
    "fault",
    [
        *("error_after=2", "error_after=2&code=InternalStreamFailure", "truncate_after=2"),
        *("reset_after=2", "truncate_at_byte=2500", "flip_bit=20000", "sse=badjson"),
    ],
)
def test_a_stream_that_breaks_off_is_the_providers_failure(
    hosted_site: Site, caller: Caller, transport: str, fault: str
) -> None:
    answer = caller.with_(model=named(OPENAI, transport)).stream(f"script:tokens=9&{fault}")

    assert answer.events[-1] == "[DONE]"
    assert answer.events[-2]["error"]["code"] == "provider_unavailable"
    assert hosted_site.record(answer.call_id)["charge_nusd"] == 0


@BOTH
@pytest.mark.parametrize("secret", [ACCESS_KEY_ID, SECRET_ACCESS_KEY])
def test_what_signed_a_request_is_not_told(caller: Caller, secret: str, stream: bool) -> None:
    told = f"script:fail=400&code=ValidationError&message=No+{secret}+here"
    answer: Any = caller.with_(model=TGI).ask(told, stream=stream)

    assert secret not in answer.body.decode()
