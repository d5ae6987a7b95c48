"""What comes back from /responses, buffered and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.responses.asking import (
    LOOK_UP,
    assert_leaver_pays,
    events_of,
    kinds,
    respond,
    response_of,
)
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

TEXT_EVENTS = [
    *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
    *("output_text.done", "content_part.done", "output_item.done", "completed"),
]
each_way = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@each_way
def test_text(caller: Caller, stream: bool) -> None:
    answer = respond(caller, "script:text=Hello+you", stream=stream)

    response = response_of(answer)
    assert response.status == "completed"
    assert response.output_text == "Hello you"
    assert response.id == f"resp_{answer.call_id}"
    assert response.model == "fake-model"
    message = response.output[0]
    assert message.type == "message"
    assert (message.role, message.status) == ("assistant", "completed")
    assert response.completed_at is not None
    assert response.error is None
    assert response.incomplete_details is None


def test_events_come_in_the_documented_order(caller: Caller) -> None:
    answer = respond(caller, "script:text=Hello+you", stream=True)

    assert kinds(answer) == TEXT_EVENTS
    events = events_of(answer)
    deltas = [event["delta"] for event in events if event["type"].endswith("text.delta")]
    assert "".join(deltas) == "Hello you"
    assert {event["item_id"] for event in events if "item_id" in event} == {
        events[-1]["response"]["output"][0]["id"]
    }


@each_way
def test_calls_of_tools_in_parallel(caller: Caller, stream: bool) -> None:
    answer = respond(caller, "script:tools=2", tools=[LOOK_UP], stream=stream)

    calls = response_of(answer).output
    assert [call.type for call in calls] == ["function_call", "function_call"]
    for number, call in enumerate(calls):
        assert call.type == "function_call"
        assert call.call_id == f"call_{number}"
        assert call.arguments == '{"city":"Paris"}'
        assert call.status == "completed"
    assert len({call.id for call in calls}) == 2


def test_a_streamed_call_of_a_tool(caller: Caller) -> None:
    answer = respond(caller, "script:tools=1", tools=[LOOK_UP], stream=True)

    assert kinds(answer) == [
        *("created", "in_progress", "output_item.added", "function_call_arguments.delta"),
        *("function_call_arguments.done", "output_item.done", "completed"),
    ]
    done = events_of(answer)[-3]
    assert (done["name"], done["arguments"]) == (LOOK_UP["name"], '{"city":"Paris"}')


@each_way
def test_reasoning(caller: Caller, stream: bool) -> None:
    answer = respond(caller, "script:reasoning=3&text=So", stream=stream)

    response = response_of(answer)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    thought = response.output[0]
    assert thought.type == "reasoning"
    assert thought.summary[0].text
    assert thought.encrypted_content is None
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens == 3
    if stream:
        assert kinds(answer)[2:8] == [
            *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
            *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        ]


@each_way
@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_that_was_cut_is_incomplete(
    caller: Caller, stream: bool, finish: str, reason: str
) -> None:
    answer = respond(caller, f"script:finish={finish}", stream=stream)

    response = response_of(answer)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == reason
    message = response.output[0]
    assert message.type == "message"
    assert message.status == "incomplete"
    if stream:
        assert events_of(answer)[-1]["type"] == "response.incomplete"


@each_way
def test_usage_and_money_are_exact(site: Site, caller: Caller, stream: bool) -> None:
    given = [
        {"role": "user", "content": "one two three four"},
        {"role": "user", "content": "script:tokens=7&cached=2&reasoning=2"},
    ]

    answer = respond(caller, given, stream=stream)

    record = site.record(answer.call_id)
    usage = response_of(answer).usage
    assert usage is not None
    assert usage.input_tokens == record["prompt_tokens"]
    assert usage.input_tokens_details.cached_tokens == record["cached_tokens"] == 2
    assert usage.output_tokens == record["completion_tokens"] == 9
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert record["endpoint"] == "responses"
    plain = (usage.input_tokens - 2) * INPUT_NUSD + usage.output_tokens * OUTPUT_NUSD
    assert plain <= record["charge_nusd"] <= plain + 2 * INPUT_NUSD
    shown = response_of(answer).model_dump()
    assert round(shown["usage"]["cost"] * 10**9) == record["charge_nusd"]


@each_way
def test_logprobs(caller: Caller, stream: bool) -> None:
    answer = respond(
        caller,
        "script:text=Hello+you",
        stream=stream,
        top_logprobs=1,
        include=["message.output_text.logprobs"],
    )

    message = response_of(answer).output[0]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    assert part.logprobs is not None
    assert "".join(token.token for token in part.logprobs) == "Hello you"
    assert len(part.logprobs[0].top_logprobs) == 1


def test_a_response_repeats_the_settings_of_its_request(caller: Caller) -> None:
    settings: dict[str, Any] = {
        "instructions": "Be short.",
        "max_output_tokens": 50,
        "metadata": {"run": "7"},
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "temperature": 0.5,
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "tools": [LOOK_UP],
        "top_p": 0.5,
        "truncation": "disabled",
        "user": "someone",
    }

    answer = respond(caller, "hello", **settings)

    assert response_of(answer).status == "completed"
    shown = answer.json
    for name, value in settings.items():
        if name != "tools":
            assert shown[name] == value, name
    assert shown["tools"] == [LOOK_UP | {"strict": None}]
    assert shown["tool_choice"] == "auto"
    assert shown["store"] is False


def test_a_stream_that_breaks_ends_with_an_error_and_a_failed_response(caller: Caller) -> None:
    answer = respond(caller, "script:tokens=5&reset_after=2", stream=True)

    error, failed = events_of(answer)[-2:]
    assert (error["type"], error["code"]) == ("error", "provider_unavailable")
    assert error["error"]["message"] == error["message"]
    assert failed["type"] == "response.failed"
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"] == {"code": "server_error", "message": error["message"]}
    [said] = failed["response"]["output"]
    assert (said["status"], said["content"][0]["text"]) == ("incomplete", "tok0 tok1 ")


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
def test_a_providers_refusal_is_an_error(
    caller: Caller, stream: bool, fail: int, status: int, code: str
) -> None:
    answer = respond(caller, f"script:fail={fail}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code)


def test_a_caller_that_hangs_up_pays_for_what_was_said(site: Site, caller: Caller) -> None:
    assert_leaver_pays(site, caller)


def test_the_same_request_under_an_idempotency_key_is_answered_once(
    site: Site, caller: Caller
) -> None:
    headers = {"idempotency-key": "key-1"}

    first = respond(caller, "script:tokens=3", headers=headers, stream=True)
    again = respond(caller, "script:tokens=3", headers=headers, stream=True)

    assert again.headers["idempotent-replayed"] == "true"
    assert again.body == first.body
    assert len(site.tries(first.call_id)) == 1


def test_the_other_mount(caller: Caller) -> None:
    answer = respond(caller, "script:text=Hello", path="/api/v1/responses")

    assert response_of(answer).output_text == "Hello"
