"""Inferada, the request: items S0-01 to S0-18, S0-31 to S0-37 and S0-45, as far as they go
without templates and processors."""

from __future__ import annotations

import json
import select
from typing import Any

import pytest

from tests.flows.caller import CHAT, READ_S
from tests.flows.site import CREDENTIAL, Site
from tests.sources.product import Client, client_of

SSE = "text/event-stream; charset=utf-8"
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}


def test_S0_01_any_openai_payload_is_accepted(inferada: Client) -> None:
    payload = {
        "stream": False,
        "logprobs": True,
        "metadata": {"a": "b"},
        "store": False,
        "prediction": {"type": "content", "content": "x"},
        "modalities": ["text"],
        "user": "u",
    }

    answer = inferada.ask("hello", **payload)

    assert answer.status == 200
    assert {"id", "object", "created", "model", "choices", "usage", "timings"} <= set(answer.json)
    assert "inferada" not in answer.json


def test_S0_02_every_other_field_reaches_the_model_unchanged(inferada: Client) -> None:
    extra = {"future": {"a": [1, None, "x"]}, "min_p": 0.05, "verbosity": "low"}

    sent = inferada.sent(stream=False, inferada={}, **extra)

    assert {name: sent[name] for name in extra} == extra
    assert "inferada" not in sent


@pytest.mark.parametrize(("stream", "kind"), [(True, SSE), (False, "application/json")])
def test_S0_03_both_streams_and_buffered_answers(inferada: Client, stream: bool, kind: str) -> None:
    answer = inferada.ask(stream=stream, path="/v1/chat/completions")

    assert (answer.status, answer.headers["content-type"]) == (200, kind)


def test_S0_04_the_model_is_required_and_can_be_looked_up(inferada: Client) -> None:
    listed = [model["id"] for model in inferada.get("models").json["data"]]

    found = inferada.ask(stream=False)
    missing = inferada.ask(raw=b'{"messages":[{"role":"user","content":"x"}]}')

    assert inferada.model in listed
    assert found.json["model"] == inferada.model
    assert (missing.status, missing.error["param"]) == (400, "model")


def test_S0_05_messages_are_required_and_have_these_roles(inferada: Client) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "42"},
        {"role": "user", "content": "script:echo"},
    ]

    answer = inferada.ask(stream=False, messages=messages)
    missing = inferada.ask(raw=b'{"model":"qwen3.5-35b"}')
    strange = inferada.ask(messages=[{"role": "robot", "content": "x"}])

    assert json.loads(answer.echo["body_text"])["messages"] == messages
    assert (missing.status, missing.error["param"]) == (400, "messages")
    assert (strange.status, strange.error["param"]) == (400, "messages[0].role")


def test_S0_07_stream_defaults_to_true_in_inferada(inferada: Client) -> None:
    silent = inferada.ask()
    null = inferada.ask(stream=None)
    from_an_sdk = inferada.ask(headers={"X-Stainless-Lang": "python"})
    wants_json = inferada.ask(headers={"Accept": "application/json"})
    takes_both = inferada.ask(headers={"Accept": "application/json, text/event-stream"})

    assert [a.headers["content-type"] for a in (silent, null, takes_both)] == [SSE] * 3
    assert from_an_sdk.headers["content-type"] == "application/json"
    assert wants_json.headers["content-type"] == "application/json"


SAMPLING: dict[str, tuple[str, list[Any], list[Any]]] = {
    "S0-09": ("temperature", [0, 0.7, 2], [-0.1, 2.1, "1", True]),
    "S0-10": ("top_p", [0, 0.5, 1], [-0.1, 1.1, "1"]),
    "S0-12": ("stop", ["END", ["a", "b", "c", "d"]], [7, [""], ["a", "b", "c", "d", "e"]]),
    "S0-13": ("frequency_penalty", [-2, 0, 2], [-2.1, 2.1, "0"]),
}


def assert_taken_and_refused(client: Client, item: str, name: str = "") -> None:
    """Assert what a sampling parameter may be, and that it reaches the model as it is."""
    field, taken, refused = SAMPLING[item]
    field = name or field
    for value in taken:
        assert client.sent(stream=False, **{field: value})[field] == value
    for value in refused:
        answer = client.ask(**{field: value})
        assert (answer.status, answer.error["code"]) == (400, "invalid_request"), value
        assert answer.error["param"].startswith(field)


def test_S0_09_temperature(inferada: Client) -> None:
    assert_taken_and_refused(inferada, "S0-09")


def test_S0_10_top_p(inferada: Client) -> None:
    assert_taken_and_refused(inferada, "S0-10")


def test_S0_11_max_tokens_caps_the_completion(inferada: Client) -> None:
    answer = inferada.ask(stream=False, max_tokens=4)

    [choice] = answer.json["choices"]
    assert answer.json["usage"]["completion_tokens"] == 4
    assert choice["finish_reason"] == "length"
    assert inferada.ask(max_tokens=0).error["param"] == "max_tokens"


def test_S0_12_stop(inferada: Client) -> None:
    assert_taken_and_refused(inferada, "S0-12")


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty"])
def test_S0_13_penalties(inferada: Client, name: str) -> None:
    assert_taken_and_refused(inferada, "S0-13", name)


def test_S0_14_tools(inferada: Client) -> None:
    sent = inferada.sent(stream=False, tools=[WEATHER])
    answer = inferada.ask("script:tools=1", stream=False, tools=[WEATHER])
    twice = inferada.ask(tools=[WEATHER, WEATHER])

    assert sent["tools"] == [WEATHER]
    [called] = answer.json["choices"][0]["message"]["tool_calls"]
    assert called["function"]["name"] == "get_weather"
    assert twice.error["param"] == "tools[1].function.name"


@pytest.mark.parametrize(
    "choice",
    ["auto", "none", "required", {"type": "function", "function": {"name": "get_weather"}}],
)
def test_S0_15_tool_choice_is_a_string_or_an_object(inferada: Client, choice: Any) -> None:
    assert inferada.sent(stream=False, tools=[WEATHER], tool_choice=choice)["tool_choice"] == choice


def test_S0_16_response_format(inferada: Client) -> None:
    wanted = {"type": "json_object"}

    sent = inferada.sent(stream=False, response_format=wanted)
    refused = inferada.ask(response_format={"type": "xml"})

    assert sent["response_format"] == wanted
    assert (refused.status, refused.error["param"]) == (400, "response_format.type")


def test_S0_18_the_example_request(inferada: Client) -> None:
    answer = inferada.example(
        {
            "model": "qwen3.5-35b",
            "messages": [
                {"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": "Hello!"},
            ],
            "stream": False,
            "temperature": 0.7,
            "max_tokens": 1000,
        }
    )

    assert (answer.status, answer.json["object"]) == (200, "chat.completion")
    assert answer.json["model"] == "qwen3.5-35b"


def assert_refused(client: Client, status: int, kind: str, **options: Any) -> None:
    """Assert an error in Inferada's form: flat members beside the object that SDKs read."""
    answer = client.ask(**options)
    body = answer.json
    assert (answer.status, body["code"], body["type"]) == (status, status, kind), body
    assert body["message"] == body["error"]["message"] != ""
    assert body["request_id"] == body["error"]["request_id"] == answer.call_id


def test_S0_31_an_invalid_body_is_400(inferada: Client) -> None:
    assert_refused(inferada, 400, "invalid_request", raw=b"{")
    assert_refused(inferada, 400, "invalid_request", temperature=3)
    unknown: dict[str, Any] = {"inferada": {"processors": ["no-such"]}}
    assert_refused(inferada, 400, "invalid_request", **unknown)
    assert inferada.ask(**unknown).error["code"] == "unknown_processor"


def test_S0_32_a_missing_or_invalid_token_is_401(inferada: Client) -> None:
    path = "/compat/inferada/v1/chat/completions"

    assert_refused(inferada, 401, "authentication_failed", path=path, headers={"authorization": ""})
    assert_refused(inferada.with_(secret="inf_none", path=path), 401, "authentication_failed")


def test_S0_33_a_missing_scope_or_a_wrong_address_is_403(site: Site) -> None:
    unable = client_of(site, "inferada", scopes=["usage"])
    elsewhere = client_of(site, "inferada", allowed_ips=["192.0.2.0/24"])

    assert_refused(unable, 403, "forbidden")
    assert_refused(elsewhere, 403, "forbidden")
    assert unable.ask().error["details"] == {"required_scope": "completions"}
    assert elsewhere.ask().error["code"] == "ip_not_allowed"


def test_S0_34_an_unknown_model_is_404(inferada: Client) -> None:
    assert_refused(inferada, 404, "not_found", model="no-such-model")


def test_S0_36_a_rate_limit_is_429(inferada: Client) -> None:
    assert_refused(inferada, 429, "limit_exceeded", prompt="script:fail=429&retry_after=7")

    answer = inferada.ask("script:fail=429&retry_after=7")
    assert answer.headers["retry-after"] == "7"
    assert answer.json["scope"] == "completions"


FLAT = ("scope", "model_id", "level", "limit", "current", "requested")


def test_S0_36_a_limit_on_requests_is_a_flat_429(site: Site) -> None:
    limits = {"max_requests_per_minute": 1, "burst": 2}
    client = client_of(site, "inferada", model="qwen3.5-35b", limits=limits)

    passed = [client.ask(stream=False).status for _ in range(2)]

    assert passed == [200, 200]
    assert_refused(client, 429, "limit_exceeded")
    answer = client.ask()
    assert int(answer.headers["retry-after"]) > 0
    assert answer.error["code"] == "rate_limit_exceeded"
    assert {name: answer.json[name] for name in FLAT} == {
        "scope": "completions",
        "model_id": "qwen3.5-35b",
        "level": "token",
        "limit": {"metric": "requests", "period": "minute", "max": 1, "per_request": False},
        "current": 2,
        "requested": 1,
    }


def test_S0_36_a_limit_on_concurrency_is_a_flat_429(site: Site) -> None:
    client = client_of(site, "inferada", model="qwen3.5-35b", limits={"max_concurrent": 1})
    calls = [client.begin("script:hang", stream=False) for _ in range(4)]
    try:
        ready, _, _ = select.select([call.socket for call in calls], [], [], READ_S)

        # One runs and two wait, which is all that may: the other is told at once.
        [refused] = [call for call in calls if call.socket in ready]
        answer = refused.answer()
    finally:
        for call in calls:
            call.close()

    assert (answer.status, answer.json["type"], answer.json["code"]) == (429, "limit_exceeded", 429)
    assert answer.error["code"] == "concurrency_limit_exceeded"
    assert {name: answer.json[name] for name in FLAT} == {
        "scope": "completions",
        "model_id": "qwen3.5-35b",
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


def test_S0_37_a_failure_of_the_service_is_5xx(inferada: Client) -> None:
    assert_refused(inferada, 502, "service_failure", prompt="script:fail=500")


def test_S0_45_tokens_have_scopes_and_addresses(site: Site) -> None:
    near = client_of(site, "inferada", allowed_ips=["127.0.0.0/8"], scopes=["completions"])

    called = near.ask(path=CHAT, headers={"authorization": f"bearer {near.secret}"})
    usage = near.get("usage")

    assert called.status == 200
    assert (usage.status, usage.error["code"]) == (403, "insufficient_scope")
    assert CREDENTIAL not in called.body.decode()


def test_S0_06_a_system_message_reaches_the_model_as_it_is(inferada: Client) -> None:
    system = {"role": "system", "content": "Be {{ tone }} {% if x %}and brief{% endif %}."}
    messages = [system, {"role": "user", "content": "script:echo"}]

    assert inferada.sent(messages=messages, stream=False)["messages"] == messages


def test_S0_17_the_inferada_object_stays_here_and_names_what_is_unknown(inferada: Client) -> None:
    empty: tuple[Any, ...] = ({}, {"processors": []}, {"language": "nl"}, None)
    for settings in empty:
        assert "inferada" not in inferada.sent(inferada=settings, stream=False)
    several = inferada.ask(inferada={"processors": ["anonymize", "check"], "language": "nl"})
    wrong = inferada.ask(inferada={"processors": "anonymise"})

    assert (several.status, several.error["code"]) == (400, "unknown_processor")
    assert several.error["param"] == "inferada.processors[0]"
    assert (wrong.status, wrong.error["param"]) == (400, "inferada.processors")
