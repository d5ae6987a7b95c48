"""Streamed answers: what every stream looks like, whatever the provider's looked like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import DONE, Answer, Caller
from tests.flows.site import INPUT_NUSD, KEEP_ALIVE, OUTPUT_NUSD, Site

TEN_TOKENS = "".join(f"tok{n} " for n in range(10))


def finishes(answer: Answer, choice: int = 0) -> list[str]:
    """Return the finish reasons that were sent for a choice."""
    choices = [found for chunk in answer.chunks for found in chunk.get("choices", ())]
    return [c["finish_reason"] for c in choices if c["index"] == choice and c["finish_reason"]]


def assert_well_formed(answer: Answer) -> None:
    """Assert what holds for every stream, however it ends."""
    assert answer.status == 200
    assert answer.is_whole
    assert answer.events[-1] == DONE
    assert answer.events.count(DONE) == 1
    for name in ("id", "object", "created", "model"):
        assert len({chunk[name] for chunk in answer.chunks if "error" not in chunk}) == 1
    assert answer.chunks[0]["id"] == f"chatcmpl-{answer.call_id}"
    assert answer.chunks[0]["object"] == "chat.completion.chunk"
    [first] = answer.chunks[0]["choices"]
    assert first == {
        "index": 0,
        "delta": {"role": "assistant", "content": ""},
        "finish_reason": None,
    }
    assert len(finishes(answer)) == ("error" not in answer.chunks[-1])


def test_a_stream_is_made_of_full_chunks(site: Site, caller: Caller) -> None:
    answer = caller.stream()

    assert_well_formed(answer)
    assert answer.text == TEN_TOKENS
    assert finishes(answer) == ["stop"]
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["x-model-used"] == "fake-model"
    assert "content-length" not in answer.headers
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["ttft_us"] > 0


def test_each_write_is_made_of_whole_events(caller: Caller) -> None:
    call = caller.begin("script:tokens=20&delay_ms=2&chunk_bytes=50", stream=True)
    with call, call.socket.makefile("rb") as wire:
        while wire.readline() != b"\r\n":
            pass
        pieces = []
        while size := int(wire.readline(), 16):
            pieces.append(wire.read(size))
            wire.readline()

    assert all(p.startswith(b"data: ") and p.endswith(b"\n\n") for p in pieces)
    assert len(pieces) > 1


def test_usage_comes_in_a_chunk_of_its_own_when_asked_for(caller: Caller) -> None:
    answer = caller.stream("a b c", stream_options={"include_usage": True})

    *earlier, last = answer.chunks
    assert all(chunk["usage"] is None for chunk in earlier)
    assert all(len(chunk["choices"]) == 1 for chunk in earlier)
    assert last["choices"] == []
    assert_usage(last)


def test_usage_does_not_come_when_not_wanted(caller: Caller) -> None:
    answer = caller.stream("a b c", stream_options={"include_usage": False})

    assert all("usage" not in chunk for chunk in answer.chunks)
    assert all(len(chunk["choices"]) == 1 for chunk in answer.chunks)


@pytest.mark.parametrize("options", [None, {}, {"include_usage": None}])
def test_usage_comes_behind_the_finish_chunk_and_with_a_choice_when_nothing_is_said(
    caller: Caller, options: dict[str, Any] | None
) -> None:
    answer = caller.stream("a b c", stream_options=options)

    *earlier, last = answer.chunks
    assert all("usage" not in chunk for chunk in earlier)
    assert earlier[-1]["choices"][0]["finish_reason"] == "stop"
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]
    assert_usage(last)


def assert_usage(chunk: dict[str, Any]) -> None:
    cost_nusd = 3 * INPUT_NUSD + 10 * OUTPUT_NUSD
    assert chunk["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 10,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
        "cost": cost_nusd / 10**9,
    }
    assert chunk["credits_used"] == 0.0023


@pytest.mark.parametrize("reported", ["none", "null", "raw:{}", "raw:7", "wrong:-5", 'wrong:"9"'])
def test_usage_that_makes_no_sense_is_counted_by_us(
    site: Site, caller: Caller, reported: str
) -> None:
    answer = caller.stream(f"script:usage={reported}")

    assert_well_formed(answer)
    assert answer.chunks[-1]["usage"]["completion_tokens"] == 10
    assert site.record(answer.call_id)["charge_basis"] == "estimate"


def test_silence_before_the_first_token_is_filled(site: Site, caller: Caller) -> None:
    answer = site.stream_through_silence(caller)

    assert_well_formed(answer)
    assert answer.frames[0] == KEEP_ALIVE
    assert answer.text == TEN_TOKENS


def test_silence_between_tokens_is_filled(site: Site, caller: Caller) -> None:
    answer = site.stream_through_silence(caller, "stall_after=4")

    assert_well_formed(answer)
    [last_before] = [at for at, frame in enumerate(answer.frames) if '"tok3 "' in frame]
    assert answer.frames[last_before + 1] == KEEP_ALIVE
    assert answer.text == TEN_TOKENS


def test_a_failure_before_the_first_byte_is_an_http_error(site: Site, caller: Caller) -> None:
    answer = caller.stream("script:fail=500")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert answer.headers["content-type"] == "application/json"
    assert site.record(answer.call_id)["http_status"] == 502


def test_a_failure_after_a_keep_alive_is_an_event(site: Site, caller: Caller) -> None:
    answer = site.stream_through_silence(caller, "fail=503")

    record = site.record(answer.call_id)
    assert answer.frames[0] == KEEP_ALIVE
    assert_failed(answer, "provider_unavailable")
    assert (record["http_status"], record["error_code"]) == (answer.status, "provider_unavailable")


def assert_failed(answer: Answer, code: str) -> None:
    """Assert that a stream ends with one frame that is an error and no chunk, and [DONE]."""
    assert_well_formed(answer)
    last = answer.chunks[-1]
    assert (next(iter(last)), "choices" in last) == ("error", False)
    assert last["error"]["code"] == code
    assert last["error"]["request_id"] == answer.call_id
    assert last["error"]["message"]
    assert [chunk for chunk in answer.chunks if "error" in chunk] == [last]


BREAKS = ("truncate_after=4", "close_after=4", "reset_after=4", "error_after=4", "truncate=1")


@pytest.mark.parametrize("script", [*BREAKS, "finish=null", "sse=badjson", "sse=badutf8"])
def test_a_stream_that_breaks_ends_with_an_error_and_costs_nothing(
    site: Site, caller: Caller, script: str
) -> None:
    answer = caller.stream(f"script:{script}&delay_ms=2")

    assert_failed(answer, "provider_unavailable")
    assert TEN_TOKENS.startswith(answer.text)
    assert answer.text
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("upstream_error", "zero_upstream")
    assert (record["charge_nusd"], record["http_status"]) == (0, 200)
    assert record["absorbed_nusd"] >= OUTPUT_NUSD


@pytest.mark.parametrize("how", ["truncate_at_byte", "close_at_byte", "reset_at_byte"])
def test_a_stream_cut_at_any_byte_is_whole_or_an_error(site: Site, how: str) -> None:
    caller = site.caller()
    scripts = [f"script:text=a b c&wait_ms=1&{how}={cut}" for cut in range(0, 2_000, 7)]

    calls = [caller.begin(script, stream=True, max_tokens=10) for script in scripts]
    answers = [call.answer() for call in calls]

    assert {answer.status for answer in answers} == {200, 502}
    for answer in (found for found in answers if found.status == 200):
        assert_well_formed(answer)
        assert answer.text == "a b c" or "error" in answer.chunks[-1]
        assert "a b c".startswith(answer.text)
    records = site.records(caller, count=len(answers))
    paid = [answer for answer in answers if is_paid(answer)]
    assert paid
    assert len([record for record in records if record["charge_nusd"]]) == len(paid)
    assert {record["status"] for record in records} == {"ok", "upstream_error"}


def is_paid(answer: Answer) -> bool:
    return answer.status == 200 and "error" not in answer.chunks[-1]


UNUSUAL = ("crlf", "cr", "nospace", "multiline", "comments", "flood", "fields", "bom", "empty")
ODD = ("nochoices", "unterminated", "dupdone", "afterdone", "dupfinish", "nodelta")


@pytest.mark.parametrize("form", [*UNUSUAL, *ODD, "crlf&sse=multiline&sse=comments&sse=bom"])
@pytest.mark.parametrize("cut", ["", "&chunk_bytes=1", "&delay_ms=1"])
def test_a_stream_may_be_spelled_in_many_ways(caller: Caller, form: str, cut: str) -> None:
    answer = caller.stream(f"script:sse={form}{cut}")

    assert_well_formed(answer)
    assert answer.text == TEN_TOKENS
    assert finishes(answer) == ["stop"]
    assert answer.chunks[-1]["usage"]["completion_tokens"] == 10


@pytest.mark.parametrize("script", ["no_done=1", "framing=eof", "close=1", "per_event=4"])
def test_a_stream_may_end_in_many_ways(site: Site, caller: Caller, script: str) -> None:
    answer = caller.stream(f"script:{script}")

    assert_well_formed(answer)
    assert answer.text == TEN_TOKENS
    assert site.record(answer.call_id)["charge_basis"] == "usage"


def test_letters_of_any_script_survive_any_cut(caller: Caller) -> None:
    text = "日本 é😀\u2028\u2029 fin"

    answer = caller.stream(f"script:text={text}&chunk_bytes=1")

    assert answer.text == text


@pytest.mark.parametrize(
    ("told", "shown"),
    [("length", "length"), ("content_filter", "content_filter"), ("eos", "stop"), ("", "stop")],
)
def test_reasons_to_finish_are_those_that_clients_know(
    caller: Caller, told: str, shown: str
) -> None:
    assert finishes(caller.stream(f"script:finish={told}")) == [shown]
    assert caller.ask(f"script:finish={told}").json["choices"][0]["finish_reason"] == shown


def test_several_choices_stay_apart(caller: Caller) -> None:
    answer = caller.stream("script:tokens=3", n=2)

    choices = [choice for chunk in answer.chunks for choice in chunk["choices"]]
    for index in (0, 1):
        own = [choice for choice in choices if choice["index"] == index]
        assert own[0]["delta"] == {"role": "assistant", "content": ""}
        assert "".join(c["delta"].get("content", "") for c in own) == "tok0 tok1 tok2 "
        assert finishes(answer, index) == ["stop"]
    assert len([chunk for chunk in answer.chunks if "usage" in chunk]) == 1


def test_half_of_two_choices_is_not_an_answer(caller: Caller) -> None:
    scripts = [f"script:text=a b&truncate_at_byte={cut}" for cut in range(0, 2_800, 40)]

    calls = [caller.begin(script, stream=True, n=2, max_tokens=10) for script in scripts]
    answers = [call.answer() for call in calls]

    streams = [a for a in answers if a.status == 200]
    ends = [(finishes(a), finishes(a, 1), "error" in a.chunks[-1]) for a in streams]
    assert {repr(end) for end in ends} == {"(['stop'], ['stop'], False)", "([], [], True)"}


def test_tool_calls_arrive_piece_by_piece(caller: Caller) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}

    answer = caller.stream("script:tools=2", tools=[tool])

    assert_well_formed(answer)
    deltas = [chunk["choices"][0]["delta"] for chunk in answer.chunks]
    pieces = [piece for delta in deltas for piece in delta.get("tool_calls", [])]
    for index in (0, 1):
        first, *rest = [piece for piece in pieces if piece["index"] == index]
        assert (first["id"], first["type"]) == (f"call_{index}", "function")
        assert first["function"] == {"name": "look", "arguments": ""}
        said = "".join(piece["function"]["arguments"] for piece in rest)
        assert said == '{"city":"Paris"}'
    assert finishes(answer) == ["tool_calls"]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_comes_under_both_of_its_names(caller: Caller, field: str) -> None:
    script = f"script:reasoning=3&reasoning_field={field}"

    streamed, buffered = caller.stream(script), caller.ask(script)

    deltas = [chunk["choices"][0]["delta"] for chunk in streamed.chunks]
    for name in ("reasoning", "reasoning_content"):
        assert "".join(d.get(name, "") for d in deltas) == "think0 think1 think2 "
        assert buffered.json["choices"][0]["message"][name] == "think0 think1 think2 "
    details = streamed.chunks[-1]["usage"]["completion_tokens_details"]
    assert details == {"reasoning_tokens": 3}


def test_logprobs_go_with_their_tokens(caller: Caller) -> None:
    answer = caller.stream("script:tokens=2", logprobs=True, top_logprobs=1)

    choices = [chunk["choices"][0] for chunk in answer.chunks]
    tokens = [c["logprobs"]["content"][0]["token"] for c in choices if c.get("logprobs")]
    assert tokens == ["tok0 ", "tok1 "]


def test_an_event_that_is_too_large_is_refused(site: Site, caller: Caller) -> None:
    large, too_large = (
        caller.stream(f"script:big_bytes={size}", max_tokens=5) for size in (900_000, 2_000_000)
    )

    assert len(large.text) == 900_000
    assert (too_large.status, too_large.error["code"]) == (502, "provider_unavailable")
    assert site.record(too_large.call_id)["charge_nusd"] == 0


def test_a_compressed_stream_is_refused(caller: Caller) -> None:
    answer = caller.stream("script:gzip=1")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")


@pytest.mark.parametrize("script", ["endless", "endless&per_event=8", "endless&token_bytes=400"])
def test_a_stream_that_never_ends_is_cut_at_its_hold(site: Site, script: str) -> None:
    caller = site.caller(credit_nusd=10**6)

    answer = caller.stream(f"script:{script}", max_tokens=200)

    assert_well_formed(answer)
    assert finishes(answer) == ["length"]
    assert len(answer.text) < 200 * 8 * 4
    record = site.record(answer.call_id)
    made = site.wait_for_try(answer.call_id, state="cancelled")["completion_tokens"]
    assert 200 * OUTPUT_NUSD <= record["charge_nusd"] <= 10**6
    assert record["completion_tokens"] <= made or "token_bytes" in script
