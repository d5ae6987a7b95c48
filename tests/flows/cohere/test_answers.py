"""Answers of Cohere's Chat API as OpenAI's format has them, their price, and what goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.cohere.conftest import CACHED_NUSD, REASONING
from tests.flows.cohere.test_requests import text_file
from tests.flows.look_alikes.test_fields import TOOL
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.whole_message import BOTH, message_of


@BOTH
def test_text_arrives_and_is_paid_for_as_billed(
    cohere_site: Site, cohere: Caller, stream: bool
) -> None:
    answer = cohere.ask("script:tokens=3", stream=stream)

    message = message_of(answer)
    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 tok2 ", "stop")
    record = cohere_site.record(answer.call_id)
    assert (record["charge_basis"], record["prompt_tokens"]) == ("usage", 1)
    assert record["charge_nusd"] == INPUT_NUSD + 3 * OUTPUT_NUSD


@BOTH
def test_cached_tokens_have_their_price(cohere_site: Site, cohere: Caller, stream: bool) -> None:
    answer = cohere.ask("script:tokens=2&cached=1", stream=stream)

    record = cohere_site.record(answer.call_id)
    assert record["charge_nusd"] == CACHED_NUSD + 2 * OUTPUT_NUSD


@BOTH
def test_thoughts_arrive_as_reasoning(cohere: Caller, stream: bool) -> None:
    caller = cohere.with_(model=REASONING)

    message = message_of(caller.ask("script:tokens=1&reasoning=2", stream=stream))

    assert (message["content"], message["reasoning"]) == ("tok0 ", "think0 think1 ")


@BOTH
def test_calls_of_tools_arrive_with_their_plan(cohere: Caller, stream: bool) -> None:
    answer = cohere.ask("script:tools=2&reasoning=2", stream=stream, tools=[TOOL])

    message = message_of(answer)
    assert message["reasoning"] == "think0 think1 "
    assert message["finish_reason"] == "tool_calls"
    first, second = message["tool_calls"]
    assert first["id"] != second["id"]
    for call in (first, second):
        assert (call["type"], call["function"]["name"]) == ("function", "look_up")
        assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


@BOTH
def test_citations_are_annotations(cohere: Caller, stream: bool) -> None:
    parts = [text_file("It is 7."), {"type": "text", "text": "script:tokens=1"}]

    answer = cohere.ask(messages=[{"role": "user", "content": parts}], stream=stream)

    assert answer.status == 200, answer.body
    choices = [chunk["choices"][0] for chunk in answer.chunks if chunk["choices"]] if stream else []
    said: list[dict[str, Any]] = [choice["delta"] for choice in choices]
    said = said or [answer.json["choices"][0]["message"]]
    [citation] = [one for message in said for one in message.get("annotations", ())]
    assert citation == {
        "type": "file_citation",
        "file_citation": {
            "start_index": 0,
            "end_index": 4,
            "file_id": "doc_0",
            "text": "tok0",
            "filename": "Notes",
        },
    }


@BOTH
@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("MAX_TOKENS", "length"),
        ("TOOL_CALL", "tool_calls"),
        ("ERROR_TOXIC", "content_filter"),
        ("BRAND_NEW", "stop"),
    ],
)
def test_an_end_has_its_reason(
    cohere_site: Site, cohere: Caller, native: str, reason: str, stream: bool
) -> None:
    answer = cohere.ask(f"script:tokens=1&finish={native}", stream=stream)

    assert message_of(answer)["finish_reason"] == reason
    assert cohere_site.record(answer.call_id)["native_finish_reason"] == native


@BOTH
def test_the_limit_ends_an_answer(cohere: Caller, stream: bool) -> None:
    message = message_of(cohere.ask("script:tokens=9", max_tokens=2, stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "length")


@pytest.mark.parametrize("native", ["ERROR", "TIMEOUT"])
def test_a_provider_that_gave_up_has_failed(cohere_site: Site, cohere: Caller, native: str) -> None:
    buffered = cohere.ask(f"script:tokens=2&finish={native}")
    streamed = cohere.stream(f"script:tokens=2&finish={native}")

    assert (buffered.status, buffered.error["code"]) == (502, "provider_unavailable")
    assert streamed.events[-2]["error"]["code"] == "provider_unavailable"
    assert cohere_site.record(streamed.call_id)["charge_nusd"] == 0


@BOTH
@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("fail=400", 400, "invalid_request"),
        ("fail=422", 400, "invalid_request"),
        ("fail=400&message=too+many+tokens:+9+exceed+the+limit", 400, "context_length_exceeded"),
        ("fail=401", 502, "provider_auth"),
        ("fail=429", 429, "provider_rate_limit"),
        ("fail=500", 502, "provider_unavailable"),
        ("fail=504", 504, "provider_timeout"),
        ("fail=500&body=html", 502, "provider_unavailable"),
    ],
)
def test_each_refusal_has_its_meaning(
    cohere_site: Site, cohere: Caller, script: str, status: int, code: str, stream: bool
) -> None:
    answer = cohere.ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert cohere_site.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize("how", ["truncate_after=2", "close_after=2", "reset_after=2", "truncate"])
def test_a_stream_that_breaks_says_so(cohere_site: Site, cohere: Caller, how: str) -> None:
    answer = cohere.stream(f"script:tokens=5&{how}")

    assert answer.events[-2]["error"]["code"] == "provider_unavailable"
    assert cohere_site.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_stream_is_read_however_it_is_cut(cohere: Caller, size: int) -> None:
    message = message_of(cohere.stream(f"script:tokens=2&chunk_bytes={size}"))

    assert message["content"] == "tok0 tok1 "


def test_an_answer_that_is_none_is_the_providers_fault(cohere: Caller) -> None:
    answer = cohere.ask("script:tokens=1&plant=nonsense", stream=True)

    assert answer.events[-2]["error"]["code"] == "provider_unavailable"
