"""Answers of the Messages API as OpenAI's format has them, buffered and streamed."""

from __future__ import annotations

import pytest

from tests.flows.asking import LOOK_UP
from tests.flows.caller import Caller
from tests.flows.dialect_checks import CUT_SIZES, SPELLINGS, assert_end, assert_two_calls
from tests.flows.site import Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH, message_of


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
    assert_two_calls(message)


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
    assert_end(claude_site, claude, native=native, reason=reason, stream=stream)


@both_transports
@BOTH
def test_the_limit_ends_an_answer(claude: Caller, stream: bool) -> None:
    message = message_of(claude.ask("script:tokens=9", max_tokens=2, stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "length")


@both_transports
@SPELLINGS
def test_a_stream_is_read_however_it_is_spelled(claude: Caller, spelling: str) -> None:
    message = message_of(claude.stream(f"script:tokens=2&sse={spelling}"))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "stop")


@both_transports
@CUT_SIZES
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
