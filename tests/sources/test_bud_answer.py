"""Bud, the answer: items S1-29 to S1-43, S1-49 and S1-50."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from tests.flows.caller import DONE
from tests.flows.site import Site
from tests.sources.product import Client, client_of

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}


def test_S1_29_the_id_is_a_bare_uuid(bud: Client) -> None:
    buffered = bud.ask()
    streamed = bud.ask(stream=True)

    assert buffered.json["id"] == buffered.call_id
    assert {chunk["id"] for chunk in streamed.chunks} == {streamed.call_id}
    assert UUID(buffered.call_id).version == 7


def test_S1_30_every_answer_and_chunk_belongs_to_an_episode(site: Site, bud: Client) -> None:
    first = bud.ask()
    episode = first.json["episode_id"]

    second = bud.ask(**{"tensorzero::episode_id": episode})
    streamed = bud.ask(stream=True, headers={"x-episode-id": episode})
    wrong = bud.ask(headers={"x-episode-id": "not-a-uuid"})

    assert UUID(episode).version == 7
    assert second.json["episode_id"] == episode
    assert {chunk["episode_id"] for chunk in streamed.chunks} == {episode}
    assert site.record(second.call_id)["episode_id"] == episode
    assert (wrong.status, wrong.error["param"]) == (400, "x-episode-id")


def test_S1_31_there_is_one_choice_of_index_0(bud: Client) -> None:
    [choice] = bud.ask().json["choices"]
    many = bud.ask(n=2)

    assert choice["index"] == 0
    assert bud.ask(n=1).status == 200
    assert (many.status, many.error["param"]) == (400, "n")


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter", "tool_calls"])
def test_S1_32_finish_reasons(bud: Client, reason: str) -> None:
    buffered = bud.ask(f"script:finish={reason}")
    streamed = bud.ask(f"script:finish={reason}", stream=True)

    assert buffered.json["choices"][0]["finish_reason"] == reason
    assert streamed.chunks[-1]["choices"][0]["finish_reason"] == reason


def test_S1_33_the_role_is_the_assistants(bud: Client) -> None:
    assert bud.ask().json["choices"][0]["message"]["role"] == "assistant"


def test_S1_34_content_is_a_text_or_null(bud: Client) -> None:
    said = bud.ask("script:text=Hi").json["choices"][0]["message"]
    called = bud.ask("script:tools=1", tools=[WEATHER]).json["choices"][0]["message"]

    assert said["content"] == "Hi"
    assert called["content"] is None


def test_S1_35_tool_calls_are_always_a_list(bud: Client) -> None:
    silent = bud.ask().json["choices"][0]["message"]
    called = bud.ask("script:tools=1", tools=[WEATHER]).json["choices"][0]["message"]

    assert silent["tool_calls"] == []
    [call] = called["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city":"Paris"}'}


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_S1_36_reasoning_is_called_reasoning_content(bud: Client, field: str) -> None:
    script = f"script:reasoning=2&tokens=1&reasoning_field={field}"

    message = bud.ask(script).json["choices"][0]["message"]
    deltas = [chunk["choices"][0]["delta"] for chunk in bud.ask(script, stream=True).chunks]

    assert message["reasoning_content"]
    assert "reasoning" not in message
    assert "".join(d.get("reasoning_content", "") for d in deltas) == message["reasoning_content"]
    assert all("reasoning" not in delta for delta in deltas)


def test_S1_37_logprobs_are_an_object_when_asked_for_and_null_else(bud: Client) -> None:
    assert bud.ask().json["choices"][0]["logprobs"] is None
    assert bud.ask(logprobs=True).json["choices"][0]["logprobs"]["content"]


def test_S1_38_created_model_and_object(bud: Client) -> None:
    said = bud.ask().json

    assert abs(said["created"] - time.time()) < 60
    assert isinstance(said["created"], int)
    assert (said["model"], said["object"]) == ("qwen3-4b", "chat.completion")


def test_S1_39_fingerprint_and_tier_are_texts_empty_when_unknown(bud: Client) -> None:
    said = bud.ask().json

    assert said["system_fingerprint"] == "fp_fake"
    assert said["service_tier"] == ""


def test_S1_40_usage_has_three_counts(bud: Client) -> None:
    usage = bud.ask("one two").json["usage"]

    counts = [usage[f"{kind}_tokens"] for kind in ("prompt", "completion", "total")]
    assert counts == [2, 10, 12]


def test_S1_41_chunks_have_every_member(bud: Client) -> None:
    answer = bud.ask(stream=True)

    for chunk in answer.chunks:
        assert {"id", "object", "created", "model", "choices"} <= set(chunk)
        [choice] = chunk["choices"]
        assert {"index", "delta", "finish_reason"} <= set(choice)


def test_S1_42_usage_rides_on_the_finish_chunk(bud: Client) -> None:
    answer = bud.ask(stream=True, stream_options={"include_usage": True})
    silent = bud.ask(stream=True)

    *earlier, last = answer.chunks
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["completion_tokens"] == 10
    assert all(not chunk.get("usage") for chunk in (*earlier, *silent.chunks))


def test_S1_43_done_is_the_last_line(bud: Client) -> None:
    answer = bud.ask(stream=True)

    assert answer.body.endswith(b"data: [DONE]\n\n")
    assert answer.events.count(DONE) == 1


def test_S1_49_an_error_is_an_object_whose_code_is_a_number(bud: Client) -> None:
    answer = bud.ask(temperature=3)

    assert answer.error["message"]
    assert (answer.error["type"], answer.error["code"]) == ("invalid_request_error", 400)


def test_S1_50_statuses(site: Site, bud: Client) -> None:
    narrow = client_of(site, "bud", allowed_models=["qwen3-4b"])
    forbidden = narrow.ask(model="hidden-model")
    answers = [
        bud.ask(messages="x"),
        bud.with_(secret="bud_client_none").ask(),
        bud.ask(model="no-such-model"),
        bud.ask(model="tensorzero::function_name::no_such_function"),
        forbidden,
        bud.ask("script:fail=429"),
        bud.ask("script:fail=500"),
    ]

    assert [a.status for a in answers] == [400, 401, 404, 404, 404, 429, 502]
    assert [a.error["code"] for a in answers] == [a.status for a in answers]
    assert [a.error["type"] for a in answers[-2:]] == ["rate_limit_error", "server_error"]
    assert answers[-1].json["provider_error"]["code"] == "provider_unavailable"
    # What a key may not use looks like what does not exist.
    unknown = narrow.ask(model="hidden-modem")
    assert (
        forbidden.error["message"].replace("hidden-model", "hidden-modem")
        == unknown.error["message"]
    )
