"""Answers of Converse as OpenAI's format has them, buffered and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.asking import LOOK_UP, body_of, dropped
from tests.flows.caller import Answer, Caller
from tests.flows.dialect_checks import CUT_SIZES, assert_end, assert_two_calls
from tests.flows.site import Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH, message_of


@both_transports
@BOTH
def test_text_arrives(bedrock: Caller, stream: bool) -> None:
    message = message_of(bedrock.ask("script:tokens=3", stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 tok2 ", "stop")
    assert not {"tool_calls", "reasoning", "reasoning_details"} & message.keys()


@both_transports
@BOTH
def test_calls_of_tools_arrive(bedrock: Caller, stream: bool) -> None:
    assert_two_calls(message_of(bedrock.ask("script:tools=2", stream=stream, tools=[LOOK_UP])))


@both_transports
@BOTH
def test_a_call_without_arguments_has_an_empty_object(bedrock: Caller, stream: bool) -> None:
    message = message_of(bedrock.ask("script:tools=1&args=", stream=stream, tools=[LOOK_UP]))

    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def details_of(answer: Answer, *, stream: bool) -> list[dict[str, Any]]:
    if not stream:
        details: list[dict[str, Any]] = answer.json["choices"][0]["message"]["reasoning_details"]
        return details
    deltas = [chunk["choices"][0]["delta"] for chunk in answer.chunks if chunk["choices"]]
    return [each for delta in deltas for each in delta.get("reasoning_details", ())]


@both_transports
@BOTH
def test_reasoning_comes_back_signed_on_the_next_turn(bedrock: Caller, stream: bool) -> None:
    ask = {"role": "user", "content": "script:reasoning=2&redacted&tools=1&text=Hm."}
    first = bedrock.ask(messages=[ask], stream=stream, tools=[LOOK_UP], max_tokens=9_000)
    message = message_of(first)
    assert message["reasoning"] == "think0 think1 "
    details = details_of(first, stream=stream)
    assert {each["format"] for each in details} == {"amazon-bedrock-v1"}

    [call] = message["tool_calls"]
    turn = {"role": "assistant", "tool_calls": [call], "reasoning_details": details}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "sun"}
    echo = {"role": "user", "content": "script:echo"}
    said = [ask, turn, result, echo]
    answer = bedrock.ask(messages=said, tools=[LOOK_UP], reasoning_effort="low")
    body = body_of(answer)

    assert dropped(answer) == set()
    assert body["additionalModelRequestFields"]["thinking"]["type"] == "enabled"
    redacted, thought, called = body["messages"][1]["content"]
    assert redacted["reasoningContent"]["redactedContent"]
    said = thought["reasoningContent"]["reasoningText"]
    assert said["text"] == "think0 think1 "
    assert said["signature"].startswith("EqQB")
    assert called["toolUse"]["toolUseId"] == call["id"]


def test_a_model_that_is_not_to_think_gets_no_thoughts(bedrock: Caller) -> None:
    detail = {"type": "reasoning.text", "text": "Hm", "signature": "x", "index": 0}
    details = [detail | {"format": "amazon-bedrock-v1"}]
    turn = {"role": "assistant", "content": "Hello", "reasoning_details": details}
    echo = {"role": "user", "content": "script:echo"}
    answer = bedrock.ask(messages=[{"role": "user", "content": "Hi"}, turn, echo])

    assert dropped(answer) == {"reasoning_details"}
    assert body_of(answer)["messages"][1]["content"] == [{"text": "Hello"}]


def test_reasoning_of_another_api_is_named_as_dropped(bedrock: Caller) -> None:
    detail = {"type": "reasoning.text", "text": "Hm", "signature": "x", "index": 0}
    turn = {
        "role": "assistant",
        "content": "Hello",
        "reasoning_details": [detail | {"format": "anthropic-claude-v1"}],
    }
    answer = bedrock.ask(
        messages=[
            {"role": "user", "content": "Hi"},
            turn,
            {"role": "user", "content": "script:echo"},
        ]
    )

    assert dropped(answer) == {"reasoning_details"}
    assert body_of(answer)["messages"][1]["content"] == [{"text": "Hello"}]


@BOTH
@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("malformed_model_output", "stop"),
        ("brand_new", "stop"),
    ],
)
def test_an_end_has_its_reason(
    bedrock_site: Site, bedrock: Caller, native: str, reason: str, stream: bool
) -> None:
    assert_end(bedrock_site, bedrock, native=native, reason=reason, stream=stream)


@both_transports
@BOTH
def test_the_limit_ends_an_answer(bedrock: Caller, stream: bool) -> None:
    message = message_of(bedrock.ask("script:tokens=9", max_tokens=2, stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "length")


@both_transports
@CUT_SIZES
def test_a_stream_is_read_however_it_is_cut(bedrock: Caller, size: int) -> None:
    message = message_of(bedrock.stream(f"script:tokens=2&reasoning=1&chunk_bytes={size}"))

    assert (message["content"], message["reasoning"]) == ("tok0 tok1 ", "think0 ")


def test_a_stream_without_metadata_is_whole(bedrock: Caller) -> None:
    assert message_of(bedrock.stream("script:tokens=1&no_done"))["content"] == "tok0 "


@pytest.mark.parametrize("planted", ["brandNew {}", 'contentBlockDelta {"delta":{}}', "ping "])
def test_events_that_nobody_knows_are_passed_over(bedrock: Caller, planted: str) -> None:
    told = bedrock.stream(f"script:tokens=2&plant={planted}")

    assert message_of(told)["content"] == "tok0 tok1 "
