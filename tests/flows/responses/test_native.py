"""Calls to /responses that go to the Responses API of OpenAI or Azure OpenAI, as the caller wrote
them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.responses.asking import (
    ECHO,
    LOOK_UP,
    assert_leaver_pays,
    events_of,
    respond,
    response_of,
)
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

VERSION = {"api_version": "2025-04-01-preview"}
TOOL = LOOK_UP | {"strict": False}
each_way = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


# Name, kind, path and settings of each provider.
PROVIDERS: list[tuple[str, str, str, dict[str, str]]] = [
    ("openai", "openai", "/v1", {}),
    ("azure", "azure_openai", "/azure/openai", {"resource": "fake"}),
    ("deployments", "azure_openai", "/azure/openai", {"resource": "fake"} | VERSION),
]


@pytest.fixture(scope="module")
def native_site(site: Site) -> Site:
    for name, kind, path, settings in PROVIDERS:
        provider = f"{name}-native"
        site.office.do(
            "provider",
            name=provider,
            kind=kind,
            base_url=f"{site.upstream.origin}{path}",
            credential="sk-x",
            settings=settings,
        )
        for model in ("gpt-4o", "gpt-5.5", "our-own"):
            site.add_model(f"{name}/{model}", provider=provider, native_model=model)
    return site


@pytest.fixture(params=["openai", "azure"])
def native(native_site: Site, request: pytest.FixtureRequest) -> Caller:
    return native_site.caller().with_(model=f"{request.param}/gpt-5.5")


def echoed(caller: Caller, given: Any, **members: Any) -> dict[str, Any]:
    answer = respond(caller, given, **members)
    echo = json.loads(response_of(answer).output_text)
    assert echo["path"].endswith("/v1/responses")
    body: dict[str, Any] = json.loads(echo["body_text"])
    return body


def test_the_callers_own_request_goes_out(native: Caller) -> None:
    members = {
        "instructions": "Be short.",
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low"},
        "metadata": {"run": "7"},
        "tools": [TOOL],
        "truncation": "auto",
    }

    body = echoed(native, [ECHO], **members, max_output_tokens=5_000, store=True)

    assert {name: body[name] for name in members} == members
    assert body["input"] == [ECHO]
    assert body["model"] == "gpt-5.5"
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert "stream" not in body


def test_what_codex_sends_goes_out(native: Caller) -> None:
    codex = {"client_metadata": {"session_id": "01a209ea"}, "prompt_cache_key": "01a209ea"}
    said = {
        "type": "message",
        "id": "msg_01a209ea",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Be careful."}],
    }

    body = echoed(native, [said, {"id": "msg_01a209eb"} | ECHO], **codex)

    assert body["input"] == [said, {"id": "msg_01a209eb"} | ECHO]
    assert {name: body[name] for name in codex} == codex


def test_an_id_of_another_form_is_refused_by_the_provider(native: Caller) -> None:
    answer = respond(native, [{"id": "item_1"} | ECHO])

    assert answer.status == 400
    assert "Expected an ID that begins with 'msg'." in answer.error["message"]


def test_what_only_its_own_tools_have_is_asked_for(native: Caller) -> None:
    body = echoed(native, "script:echo", include=["file_search_call.results"])

    assert "file_search_call.results" in body["include"]


def test_nothing_is_dropped(native: Caller) -> None:
    answer = respond(native, "hello", truncation="auto")

    assert "x-dropped-params" not in answer.headers


def test_a_model_that_does_not_reason_is_not_asked_for_reasoning(native: Caller) -> None:
    does_not_reason = native.with_(model=native.model.replace("gpt-5.5", "gpt-4o"))

    body = echoed(does_not_reason, "script:echo", temperature=0.5)

    assert "include" not in body
    assert body["temperature"] == 0.5


def test_a_limit_is_lowered(native_site: Site, native: Caller) -> None:
    caller = native_site.caller(credit_nusd=1_000_000).with_(model=native.model)

    body = echoed(caller, "script:echo", max_output_tokens=4_000)

    assert 0 < body["max_output_tokens"] < 1_000


@each_way
def test_answers(native_site: Site, native: Caller, stream: bool) -> None:
    answer = respond(native, "script:tokens=5&reasoning=2&cached=1", stream=stream)

    response = response_of(answer)
    assert response.output_text.split() == [f"tok{n}" for n in range(5)]
    thought = response.output[0]
    assert thought.type == "reasoning"
    assert thought.summary[0].text
    assert str(thought.encrypted_content).startswith("gAAAAAB")
    record = native_site.record(answer.call_id)
    usage = response.usage
    assert usage is not None
    assert (usage.output_tokens, usage.output_tokens_details.reasoning_tokens) == (7, 2)
    assert usage.input_tokens_details.cached_tokens == record["cached_tokens"] == 1
    assert (record["prompt_tokens"], record["completion_tokens"]) == (usage.input_tokens, 7)
    price = record["charge_nusd"] - 7 * OUTPUT_NUSD
    assert price <= usage.input_tokens * INPUT_NUSD
    assert len(native_site.tries(answer.call_id)) == 1


@each_way
def test_calls_of_tools_and_reasoning_go_back(native: Caller, stream: bool) -> None:
    first = respond(native, "script:tools=2&reasoning=2", tools=[TOOL], stream=stream)
    output = response_of(first).model_dump(exclude_unset=True)["output"]
    calls = [item for item in output if item["type"] == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
        for call in calls
    ]

    body = echoed(native, [*output, *results, ECHO], tools=[TOOL])

    assert [call["arguments"] for call in calls] == ['{"city":"Paris"}'] * 2
    kinds = [item.get("type") for item in body["input"]]
    assert kinds == ["reasoning", *["function_call"] * 2, *["function_call_output"] * 2, None]
    assert body["input"][0]["encrypted_content"] == output[0]["encrypted_content"]


def test_reasoning_of_others_does_not_go_to_openai(native: Caller) -> None:
    theirs = respond(native.with_(model="fake-model"), "script:reasoning=2&details")
    output = response_of(theirs).model_dump(exclude_unset=True)["output"]

    answer = respond(native, [*output, ECHO])

    assert answer.headers["x-dropped-params"] == "encrypted_content"
    body = json.loads(json.loads(response_of(answer).output_text)["body_text"])
    assert [item.get("type") for item in body["input"]] == ["message", None]


def test_a_conversation_goes_on_from_a_stored_response(native_site: Site, native: Caller) -> None:
    native_site.office.do("store_bodies", workspace_id=native.workspace_id)
    first = response_of(respond(native, "script:text=One&reasoning=2"))

    body = echoed(native, "script:echo", previous_response_id=first.id)

    assert "previous_response_id" not in body
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    assert kinds == ["user", "reasoning", "message", "user"]


@each_way
@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_incomplete(native: Caller, stream: bool, finish: str, reason: str) -> None:
    response = response_of(respond(native, f"script:finish={finish}", stream=stream))

    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == reason


@each_way
@pytest.mark.parametrize(
    ("fail", "status", "code"),
    [
        (400, 400, "invalid_request"),
        (401, 502, "provider_auth"),
        (429, 429, "provider_rate_limit"),
        (500, 502, "provider_unavailable"),
    ],
)
def test_refusals(native: Caller, stream: bool, fail: int, status: int, code: str) -> None:
    answer = respond(native, f"script:fail={fail}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code)


@pytest.mark.parametrize("how", ["reset_after=2", "truncate_after=2", "error_after=2", "truncate"])
def test_a_stream_that_breaks(native: Caller, how: str) -> None:
    answer = respond(native, f"script:tokens=5&{how}", stream=True)

    assert events_of(answer)[-1]["type"] == "response.failed"


def test_a_caller_that_hangs_up(native_site: Site, native: Caller) -> None:
    assert_leaver_pays(native_site, native)


def test_chat_completions_stay_chat_completions(native: Caller) -> None:
    answer = native.ask("script:echo")

    assert answer.echo["path"].endswith("/v1/chat/completions")


@pytest.mark.parametrize("model", ["deployments/gpt-5.5", "azure/our-own"])
def test_where_azure_may_not_answer_it_is_a_chat_completion(native_site: Site, model: str) -> None:
    answer = respond(native_site.caller().with_(model=model), "script:echo")

    echo = json.loads(response_of(answer).output_text)
    assert echo["path"].endswith("/v1/chat/completions")
