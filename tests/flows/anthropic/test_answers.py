"""Answers of the Messages API as OpenAI's format has them, buffered and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.anthropic.asking import LOOK_UP
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.flows.transports import both_transports

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


def message_of(answer: Answer) -> dict[str, Any]:
    """Return the first choice's message with its finish_reason, put together if it was streamed."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        choice = answer.json["choices"][0]
        return {**choice["message"], "finish_reason": choice["finish_reason"]}
    assert answer.events[-1] == "[DONE]"
    whole: dict[str, Any] = {"content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for choice in (chunk["choices"][0] for chunk in answer.chunks if chunk["choices"]):
        delta = choice["delta"]
        for name in ("content", "reasoning"):
            if delta.get(name):
                whole[name] = whole.get(name, "") + delta[name]
        for piece in delta.get("tool_calls", ()):
            call = calls.setdefault(piece["index"], {"arguments": ""})
            call |= {name: piece[name] for name in ("id", "type") if name in piece}
            call |= {k: v for k, v in piece["function"].items() if k != "arguments"}
            call["arguments"] += piece["function"].get("arguments", "")
        if choice.get("finish_reason"):
            whole["finish_reason"] = choice["finish_reason"]
    if calls:
        whole["tool_calls"] = [
            {
                "id": call["id"],
                "type": call["type"],
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ]
    return whole


@both_transports
@BOTH
def test_text_arrives(claude: Caller, stream: bool) -> None:
    message = message_of(claude.ask("script:tokens=3", stream=stream))

    assert message["content"] == "tok0 tok1 tok2 "
    assert message["finish_reason"] == "stop"
    assert "tool_calls" not in message
    assert "reasoning" not in message


@both_transports
@BOTH
def test_thinking_arrives_as_reasoning(claude: Caller, stream: bool) -> None:
    message = message_of(claude.ask("script:tokens=1&reasoning=2&redacted", stream=stream))

    assert message["content"] == "tok0 "
    assert message["reasoning"] == "think0 think1 "


@both_transports
@BOTH
def test_calls_of_tools_arrive(claude: Caller, stream: bool) -> None:
    answer = claude.ask("script:tools=2&text=One+moment.", stream=stream, tools=[LOOK_UP])

    message = message_of(answer)
    assert message["content"] == "One moment."
    assert message["finish_reason"] == "tool_calls"
    first, second = message["tool_calls"]
    assert first["id"] != second["id"]
    for call in (first, second):
        assert call["type"] == "function"
        assert call["function"]["name"] == "look_up"
        assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


@both_transports
@BOTH
def test_a_call_without_arguments_has_an_empty_object(claude: Caller, stream: bool) -> None:
    message = message_of(claude.ask("script:tools=1&args=", stream=stream, tools=[LOOK_UP]))

    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_an_answer_of_calls_alone_has_no_content(claude: Caller) -> None:
    assert message_of(claude.ask("script:tools=1", tools=[LOOK_UP]))["content"] is None


@BOTH
@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("brand_new", "stop"),
    ],
)
def test_an_end_has_its_reason(
    claude_site: Site, claude: Caller, native: str, reason: str, stream: bool
) -> None:
    answer = claude.ask(f"script:tokens=1&finish={native}", stream=stream)

    assert message_of(answer)["finish_reason"] == reason
    record = claude_site.record(answer.call_id)
    assert (record["finish_reason"], record["native_finish_reason"]) == (reason, native)


@both_transports
@BOTH
def test_the_limit_ends_an_answer(claude: Caller, stream: bool) -> None:
    message = message_of(claude.ask("script:tokens=9", max_tokens=2, stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "length")


@both_transports
@pytest.mark.parametrize(
    "spelling", ["crlf", "cr", "nospace", "comments", "flood", "fields", "bom", "empty"]
)
def test_a_stream_is_read_however_it_is_spelled(claude: Caller, spelling: str) -> None:
    message = message_of(claude.stream(f"script:tokens=2&sse={spelling}"))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "stop")


@both_transports
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_stream_is_read_however_it_is_cut(claude: Caller, size: int) -> None:
    prompt = f"script:tokens=2&reasoning=1&chunk_bytes={size}"

    message = message_of(claude.stream(prompt))

    assert (message["content"], message["reasoning"]) == ("tok0 tok1 ", "think0 ")


@both_transports
@pytest.mark.parametrize("flag", ["no_done", "sse=afterdone", "sse=dupdone", "sse=unterminated"])
def test_nothing_depends_on_what_follows_the_end(claude: Caller, flag: str) -> None:
    assert message_of(claude.stream(f"script:tokens=1&{flag}"))["content"] == "tok0 "


@both_transports
def test_events_that_nobody_knows_are_passed_over(claude: Caller) -> None:
    for planted in ('{"type":"brand_new"}', '{"type":"content_block_delta","delta":{}}'):
        told = claude.stream(f"script:tokens=2&plant={planted}")

        assert message_of(told)["content"] == "tok0 tok1 "
