"""HyperInfer, the answer: items S3-25 to S3-37 and S3-42."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.flows.caller import DONE
from tests.flows.site import INPUT_NUSD, KEEP_ALIVE, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.sources.product import Client, client_of
from tests.support.waiting import wait_until

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}


def test_S3_25_the_id_is_gen_and_the_request_id(hyperinfer: Client) -> None:
    buffered = hyperinfer.ask()
    streamed = hyperinfer.ask(stream=True)

    assert buffered.json["id"] == f"gen-{buffered.call_id}"
    assert {chunk["id"] for chunk in streamed.chunks} == {f"gen-{streamed.call_id}"}


def test_S3_26_the_request_id_finds_cost_and_latency(site: Site, hyperinfer: Client) -> None:
    answer = hyperinfer.ask("one two")
    site.record(answer.call_id)
    cost = (2 * INPUT_NUSD + 10 * OUTPUT_NUSD) / NUSD_PER_USD

    for spelling in (answer.call_id, f"gen-{answer.call_id}", f"chatcmpl-{answer.call_id}"):
        found = hyperinfer.get(f"generation?id={spelling}").json["data"]
        assert found["id"] == answer.call_id
        assert found["total_cost"] == cost
        assert found["latency_ms"] >= 0
        assert found["status"] == "ok"


def test_S3_27_an_answer_has_these_members(hyperinfer: Client) -> None:
    said = hyperinfer.ask().json

    assert {"id", "object", "created", "model", "choices", "usage"} <= set(said)
    assert said["object"] == "chat.completion"


def test_S3_28_the_message(hyperinfer: Client) -> None:
    thought = hyperinfer.ask("script:reasoning=2").json["choices"][0]["message"]
    called = hyperinfer.ask("script:tools=1", tools=[WEATHER]).json["choices"][0]["message"]

    assert thought["role"] == "assistant"
    assert thought["reasoning"]
    assert "reasoning_content" not in thought
    assert "tool_calls" not in thought
    assert called["content"] is None
    assert called["tool_calls"][0]["type"] == "function"


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter"])
def test_S3_29_finish_reasons(hyperinfer: Client, reason: str) -> None:
    answer = hyperinfer.ask(f"script:finish={reason}")

    assert answer.json["choices"][0]["finish_reason"] == reason


def test_S3_30_logprobs_are_null(hyperinfer: Client) -> None:
    assert hyperinfer.ask().json["choices"][0]["logprobs"] is None


def test_S3_31_usage_has_details_and_the_cost(hyperinfer: Client) -> None:
    usage = hyperinfer.ask("script:reasoning=3&cached=1").json["usage"]

    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 1}
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 3}
    nusd = usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
    assert usage["cost"] == nusd / NUSD_PER_USD


def test_S3_32_the_order_of_a_stream(hyperinfer: Client) -> None:
    answer = hyperinfer.ask("script:reasoning=2&tokens=2", stream=True)

    *chunks, usage = answer.chunks
    role, *deltas, finish = [chunk["choices"][0] for chunk in chunks]
    assert role["delta"] == {"role": "assistant", "content": ""}
    assert [next(iter(choice["delta"])) for choice in deltas] == [
        *("reasoning", "reasoning", "content", "content")
    ]
    assert (finish["delta"], finish["finish_reason"]) == ({}, "stop")
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 4)
    assert answer.events[-1] == DONE


def test_S3_33_silence_is_filled_with_comments(site: Site, hyperinfer: Client) -> None:
    """The site of these tests waits one second for what is 15 by default."""
    answer = site.stream_through_silence(hyperinfer, "tokens=2")

    assert answer.frames[0] == KEEP_ALIVE
    assert answer.chunks[0]["choices"][0]["delta"]["role"] == "assistant"


def test_S3_34_the_error_envelope(hyperinfer: Client) -> None:
    answer = hyperinfer.ask(temperature=3)

    assert set(answer.error) == {"message", "type", "code", "param", "request_id"}
    assert answer.error["param"] == "temperature"
    assert answer.error["request_id"] == answer.call_id
    assert hyperinfer.ask(raw=b"{").error["param"] is None


def test_S3_35_the_type_is_openais_class(hyperinfer: Client) -> None:
    assert hyperinfer.ask(temperature=3).error["type"] == "invalid_request_error"
    assert hyperinfer.with_(secret="hi-none").ask().error["type"] == "authentication_error"
    assert hyperinfer.ask("script:fail=429").error["type"] == "rate_limit_error"


# What brings each code of the taxonomy about, where one call is enough.
TAXONOMY: dict[str, tuple[int, dict[str, Any]]] = {
    "provider_auth": (502, {"prompt": "script:fail=401"}),
    "provider_rate_limit": (429, {"prompt": "script:fail=429"}),
    "provider_overloaded": (529, {"prompt": "script:fail=529"}),
    "context_length_exceeded": (
        400,
        {"prompt": "script:fail=400&message=maximum+context+length+is+8"},
    ),
    "content_filter": (400, {"prompt": "script:fail=400&message=content+policy"}),
    "provider_timeout": (504, {"prompt": "script:fail=504"}),
    "provider_unavailable": (502, {"prompt": "script:drop=reset"}),
    "model_not_allowed": (403, {"model": "hidden-model"}),
    "invalid_api_key": (401, {"headers": {"authorization": ""}}),
    "invalid_request": (400, {"messages": []}),
    "payload_too_large": (413, {"headers": {"content-length": str(51 * 1024 * 1024)}}),
}


@pytest.mark.parametrize("code", TAXONOMY)
def test_S3_36_the_taxonomy(site: Site, code: str) -> None:
    client = client_of(site, "hyperinfer", allowed_models=["fake-model"])
    status, options = TAXONOMY[code]

    answer = client.ask(path="/compat/hyperinfer/v1/chat/completions", **options)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body


def test_S3_36_codes_of_the_workspace(site: Site) -> None:
    poor = client_of(site, "hyperinfer", credit_nusd=0)
    locked = client_of(site, "hyperinfer")
    site.office.do("lock", workspace_id=locked.workspace_id)

    wait_until(lambda: locked.ask().status == 403, what="the lock")
    assert locked.ask().error["code"] == "workspace_locked"
    assert (poor.ask().status, poor.ask().error["code"]) == (402, "insufficient_credits")


def test_S3_36_rate_limit_exceeded(hyperinfer: Client) -> None:
    stranger = hyperinfer.with_(secret="hi-none")
    there = {"x-forwarded-for": "203.0.113.36"}

    answers = [stranger.ask(headers=there) for _ in range(30)]

    assert {a.status for a in answers} == {401, 429}
    assert answers[-1].error["code"] == "rate_limit_exceeded"
    assert int(answers[-1].headers["retry-after"]) > 0
    assert hyperinfer.ask(headers=there).status == 200


def test_S3_36_key_limit_exceeded(site: Site) -> None:
    client = client_of(site, "hyperinfer", limits={"daily_limit_nusd": 1})

    answer = client.ask(path="/api/v1/chat/completions")

    assert (answer.status, answer.error["code"]) == (402, "key_limit_exceeded")
    assert answer.error["type"] == "key_limit_exceeded"
    assert answer.error["param"] is None


def test_S3_36_limits_of_ours_are_rate_limit_exceeded(site: Site) -> None:
    limits = {"max_requests_per_minute": 1, "burst": 1}
    client = client_of(site, "hyperinfer", limits=limits)

    answers = [client.ask(path="/api/v1/chat/completions") for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 429]
    assert answers[1].error["code"] == "rate_limit_exceeded"


def test_S3_36_other_codes_keep_to_the_taxonomy(site: Site, hyperinfer: Client) -> None:
    unknown = hyperinfer.ask(model="no-such-model")
    unscoped = client_of(site, "hyperinfer", scopes=["usage"]).ask()

    assert (unknown.status, unknown.error["code"]) == (400, "invalid_request")
    assert unknown.error["details"]["code"] == "model_not_found"
    assert (unscoped.status, unscoped.error["code"]) == (401, "invalid_api_key")
    assert unscoped.error["details"]["code"] == "insufficient_scope"


def test_S3_37_the_example_of_an_error(site: Site) -> None:
    answer = client_of(site, "hyperinfer", credit_nusd=0).ask()

    assert answer.status == 402
    assert answer.error["type"] == answer.error["code"] == "insufficient_credits"
    assert answer.error["param"] is None


def test_S3_42_created_is_in_seconds(hyperinfer: Client) -> None:
    assert abs(hyperinfer.ask().json["created"] - time.time()) < 60
