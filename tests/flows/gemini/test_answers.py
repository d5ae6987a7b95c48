"""Answers of the Gemini API as OpenAI's format has them, buffered and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.asking import LOOK_UP, dropped, sent
from tests.flows.caller import Answer, Caller
from tests.flows.dialect_checks import CUT_SIZES, SPELLINGS, assert_end, assert_two_calls
from tests.flows.gemini.conftest import NEWEST
from tests.flows.site import Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH, message_of

EFFORT: dict[str, Any] = {"reasoning_effort": "low"}


def details_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the reasoning_details of an answer, put together if it was streamed."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        found: list[dict[str, Any]] = answer.json["choices"][0]["message"]["reasoning_details"]
        return found
    deltas = [chunk["choices"][0]["delta"] for chunk in answer.chunks if chunk["choices"]]
    return [detail for delta in deltas for detail in delta.get("reasoning_details", ())]


@both_transports
@BOTH
def test_text_arrives(gemini: Caller, stream: bool) -> None:
    message = message_of(gemini.ask("script:tokens=3", stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 tok2 ", "stop")
    assert "tool_calls" not in message
    assert "reasoning" not in message


@BOTH
def test_thoughts_arrive_as_reasoning(gemini: Caller, stream: bool) -> None:
    answer = gemini.ask("script:tokens=1&reasoning=2", stream=stream, **EFFORT)

    message = message_of(answer)
    assert (message["content"], message["reasoning"]) == ("tok0 ", "think0 think1 ")
    usage = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert usage["completion_tokens"] == 3
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 2


@both_transports
@BOTH
def test_calls_of_tools_arrive(gemini: Caller, stream: bool) -> None:
    answer = gemini.ask("script:tools=2&text=One+moment.", stream=stream, tools=[LOOK_UP])

    message = message_of(answer)
    assert message["content"] == "One moment."
    assert_two_calls(message)


@BOTH
def test_signatures_come_and_go_back_where_they_came_from(gemini: Caller, stream: bool) -> None:
    newest = gemini.with_(model=NEWEST)
    asked = {"role": "user", "content": "script:tools=2"}
    first = newest.ask(messages=[asked], stream=stream, tools=[LOOK_UP])
    message, details = message_of(first), details_of(first)
    calls = message["tool_calls"]
    [signature] = details
    assert signature["type"] == "reasoning.encrypted"
    assert (signature["id"], signature["format"]) == (calls[0]["id"], "google-gemini-v1")

    said = {"role": "assistant", "content": None, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "mild"} for call in calls]
    body = sent(newest, asked, said | {"reasoning_details": details}, *results, tools=[LOOK_UP])

    one, two = body["contents"][1]["parts"]
    assert one["thoughtSignature"] == signature["data"]
    assert one["functionCall"]["id"] == calls[0]["id"]
    assert "thoughtSignature" not in two


@BOTH
def test_the_signature_of_a_text_goes_back_with_it(gemini: Caller, stream: bool) -> None:
    newest = gemini.with_(model=NEWEST)
    asked = {"role": "user", "content": "script:tokens=1&reasoning=1"}
    first = newest.ask(messages=[asked], stream=stream, **EFFORT)
    [signature] = details_of(first)
    said = {"role": "assistant", "content": "tok0 ", "reasoning_details": [signature]}

    body = sent(newest, asked, said)

    signed = {"text": "tok0 ", "thoughtSignature": signature["data"]}
    assert body["contents"][1]["parts"] == [signed]
    assert "id" not in signature


def test_what_other_providers_have_signed_stays_here_and_is_named(gemini: Caller) -> None:
    entry = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    details = [entry | {"format": "anthropic-claude-v1", "index": 0}]
    said = {"role": "assistant", "content": "Yes", "reasoning_details": details}

    answer = gemini.ask(messages=[{"role": "user", "content": "So?"}, said, said])

    assert dropped(answer) == {"reasoning_details"}


@BOTH
def test_several_answers_can_be_had(gemini: Caller, stream: bool) -> None:
    answer = gemini.ask("script:tokens=2", n=2, stream=stream)

    assert answer.status == 200, answer.body
    if not stream:
        texts = [choice["message"]["content"] for choice in answer.json["choices"]]
        assert texts == ["tok0 tok1 "] * 2
        return
    said = ["", ""]
    for choice in (choice for chunk in answer.chunks for choice in chunk["choices"]):
        said[choice["index"]] += choice["delta"].get("content") or ""
    assert said == ["tok0 tok1 "] * 2


@BOTH
def test_probabilities_arrive_in_openais_form(gemini: Caller, stream: bool) -> None:
    asked = {"logprobs": True, "top_logprobs": 2}
    answer = gemini.ask("script:tokens=2", stream=stream, **asked)

    choices = [choice for chunk in answer.chunks for choice in chunk["choices"]]
    if not stream:
        choices = answer.json["choices"]
    tokens = [
        token
        for choice in choices
        if choice.get("logprobs")
        for token in choice["logprobs"]["content"]
    ]
    assert [token["token"] for token in tokens] == ["tok0 ", "tok1 "]
    first = tokens[0]
    assert (first["logprob"], first["bytes"]) == (-0.125, list(b"tok0 "))
    assert len(first["top_logprobs"]) == 2


@BOTH
@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("SPII", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "stop"),
        ("OTHER", "stop"),
        ("BRAND_NEW", "stop"),
    ],
)
def test_an_end_has_its_reason(
    gemini_site: Site, gemini: Caller, native: str, reason: str, stream: bool
) -> None:
    assert_end(gemini_site, gemini, native=native, reason=reason, stream=stream)


@BOTH
def test_a_blocked_prompt_is_a_refusal(gemini_site: Site, gemini: Caller, stream: bool) -> None:
    answer = gemini.ask("script:tokens=0&blocked=PROHIBITED_CONTENT", stream=stream)

    assert message_of(answer)["finish_reason"] == "content_filter"
    assert "The provider blocked the prompt (PROHIBITED_CONTENT)." in answer.body.decode()
    record = gemini_site.record(answer.call_id)
    assert record["native_finish_reason"] == "PROHIBITED_CONTENT"
    assert (record["charge_basis"], record["completion_tokens"]) == ("usage", 0)


@BOTH
def test_the_limit_ends_an_answer(gemini: Caller, stream: bool) -> None:
    message = message_of(gemini.ask("script:tokens=9", max_tokens=2, stream=stream))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "length")


def test_a_schema_is_kept_to(gemini: Caller) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}

    answer = gemini.ask("Hello", response_format=wanted)
    assert answer.status == 200, answer.body
    assert answer.text == '{"a":"tok0"}'


@both_transports
@SPELLINGS
def test_a_stream_is_read_however_it_is_spelled(gemini: Caller, spelling: str) -> None:
    message = message_of(gemini.stream(f"script:tokens=2&sse={spelling}"))

    assert (message["content"], message["finish_reason"]) == ("tok0 tok1 ", "stop")


@both_transports
@CUT_SIZES
def test_a_stream_is_read_however_it_is_cut(gemini: Caller, size: int) -> None:
    prompt = f"script:tokens=2&reasoning=1&chunk_bytes={size}"

    message = message_of(gemini.stream(prompt, **EFFORT))

    assert (message["content"], message["reasoning"]) == ("tok0 tok1 ", "think0 ")


@pytest.mark.parametrize("planted", ['{"brandNew":1}', '{"candidates":[{"content":{}}]}', "{}"])
def test_events_that_nobody_knows_are_passed_over(gemini: Caller, planted: str) -> None:
    told = gemini.stream(f"script:tokens=2&plant={planted}")

    assert message_of(told)["content"] == "tok0 tok1 "


def test_a_picture_is_an_image_of_the_message(gemini: Caller) -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    planted = json.dumps({"candidates": [{"content": {"parts": [part]}}]})

    told = gemini.stream(f"script:tokens=2&plant={planted}")

    [images] = [
        chunk["choices"][0]["delta"]["images"]
        for chunk in told.chunks
        if chunk["choices"] and "images" in chunk["choices"][0]["delta"]
    ]
    url = "data:image/png;base64,iVBORw0KGgo="
    assert images == [{"type": "image_url", "image_url": {"url": url}}]
