"""Answers in Anthropic's format, whatever dialect the provider speaks."""

from __future__ import annotations

import pytest
from anthropic.types import Message

from tests.flows.messages.asking import Messenger, events_of, kinds_of, message_of, text_of
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
TOOL = {
    "name": "look_up",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@BOTH
def test_text_arrives(anyone: Messenger, stream: bool) -> None:
    answer = anyone.ask("script:tokens=3", stream=stream)

    message = message_of(answer)
    Message.model_validate(message)
    assert message["content"] == [{"type": "text", "text": "tok0 tok1 tok2 "}]
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)
    assert (message["type"], message["role"]) == ("message", "assistant")
    assert message["model"] == anyone.model
    assert message["id"] == f"msg_{answer.call_id}"
    assert answer.headers["request-id"] == answer.call_id


def test_a_stream_has_the_apis_events(anyone: Messenger) -> None:
    events = events_of(anyone.stream("script:tokens=2"))

    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[-2]["usage"]["output_tokens"] == 2


@BOTH
def test_calls_of_tools_arrive(anyone: Messenger, stream: bool) -> None:
    message = message_of(anyone.ask("script:tools=2", stream=stream, tools=[TOOL]))

    first, second = (block for block in message["content"] if block["type"] == "tool_use")
    assert (first["name"], first["input"]) == ("look_up", {"city": "Paris"})
    assert first["id"] != second["id"]
    assert message["stop_reason"] == "tool_use"


@BOTH
def test_thinking_arrives_before_the_text(anyone: Messenger, stream: bool) -> None:
    message = message_of(anyone.ask("script:tokens=1&reasoning=2", stream=stream))

    assert kinds_of(message) == ["thinking", "text"]
    assert message["content"][0]["thinking"] == "think0 think1 "
    assert text_of(message) == "tok0 "


@BOTH
def test_the_limit_is_a_stop_reason(anyone: Messenger, stream: bool) -> None:
    message = message_of(anyone.ask("script:tokens=30", stream=stream, max_tokens=5))

    assert message["stop_reason"] == "max_tokens"
    assert message["usage"]["output_tokens"] == 5


@BOTH
def test_usage_is_in_anthropics_meaning(
    messages_site: Site, anyone: Messenger, stream: bool
) -> None:
    prompt = "script:tokens=4&cached=300"
    answer = anyone.ask(prompt, stream=stream, system="word " * 999)

    usage = message_of(answer)["usage"]
    assert usage["input_tokens"] == 700
    assert usage["cache_read_input_tokens"] == 300
    assert usage["cache_creation_input_tokens"] == 0
    assert usage["output_tokens"] == 4
    record = messages_site.record(answer.call_id)
    assert record["prompt_tokens"] == 1000
    assert record["charge_nusd"] == 1000 * INPUT_NUSD + 4 * OUTPUT_NUSD
    assert usage["cost"] == record["charge_nusd"] / 10**9


def test_the_first_and_the_last_counts_of_a_stream_add_up(claude: Messenger) -> None:
    """LangChain.js takes the prompt from the first, and the sum of both as what was generated."""
    prompt = "script:tokens=4&cached=300"
    first, *_, last, _ = events_of(claude.stream(prompt, system="word " * 999))

    counts = first["message"]["usage"]
    assert (counts["input_tokens"], counts["cache_read_input_tokens"]) == (700, 300)
    assert counts["output_tokens"] + last["usage"]["output_tokens"] == 4


@BOTH
def test_usage_says_for_how_long_the_cache_keeps_what_was_written(
    claude: Messenger, stream: bool
) -> None:
    prompt = "script:tokens=1&cache_written=300&cache_written_1h=100"
    usage = message_of(claude.ask(prompt, stream=stream, system="word " * 999))["usage"]

    kept = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100}
    assert usage["cache_creation"] == kept
    assert (usage["input_tokens"], usage["cache_creation_input_tokens"]) == (700, 300)
