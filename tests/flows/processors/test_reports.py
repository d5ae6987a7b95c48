"""What processors did stands in the answer, in its timings and in the record, in every format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.house.seams.site import ScratchSite
from tests.house.seams.upstream import asked

UPPER = {"processors": ["upper"], "language": "en-GB"}


def post(caller: Caller, path: str, **body: Any) -> Answer:
    return caller.ask(path=path, raw=json.dumps({"model": "scratch-model", **body}).encode())


def without_times(summary: Any) -> Any:
    for report in summary["processors"].values():
        assert report.pop("duration_ms") >= 0
    return summary


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_completion_says_what_its_processors_did(
    scratch: ScratchSite, caller: Caller, stream: bool
) -> None:
    answer = caller.ask("my secret", model="scratch-model", inferada=UPPER, stream=stream)

    told = [one["inferada"] for one in answer.chunks if "inferada" in one] if stream else None
    [summary] = told or [answer.json["inferada"]]
    assert without_times(summary) == {
        "processors": {"upper": {"status": "applied", "language": "en"}},
        "language": "en",
    }
    record = scratch.record(caller, answer)["data"]
    [run] = record["processors"]
    assert (run["name"], run["status"], run["details"]) == ("upper", "applied", {"language": "en"})
    assert run["duration_ms"] >= 0
    timings = record["timings"]
    parts = ("admit", "queued", "processors", "failed", "upstream", "gateway")
    total_ms = sum(timings[f"{part}_ms"] for part in parts)
    assert total_ms == pytest.approx(timings["total_ms"])


def test_the_summary_rides_on_the_chunk_with_the_usage(caller: Caller) -> None:
    wanted: dict[str, Any] = {"model": "scratch-model", "inferada": UPPER, "stream": True}

    asked_for = caller.ask("Hi", **wanted, stream_options={"include_usage": True})
    declined = caller.ask("Hi", **wanted, stream_options={"include_usage": False})

    [trailing] = [chunk for chunk in asked_for.chunks if "inferada" in chunk]
    [finish] = [chunk for chunk in declined.chunks if "inferada" in chunk]
    assert trailing["usage"]["completion_tokens"] == 5
    assert finish["choices"][0]["finish_reason"] == "stop"


def test_the_timings_of_an_answer_add_up(caller: Caller) -> None:
    timings = caller.ask("Hi", model="scratch-model", inferada=UPPER).json["timings"]

    assert timings["processors_ms"] >= 0
    parts = ("upstream_ms", "queued_ms", "processors_ms", "failed_ms", "gateway_ms")
    assert sum(timings.get(part, 0) for part in parts) == timings["total_ms"]


@pytest.mark.parametrize("stream", [False, True])
def test_messages_take_and_return_the_object(caller: Caller, stream: bool) -> None:
    answer = post(
        caller,
        "/v1/messages",
        max_tokens=50,
        messages=[{"role": "user", "content": "my secret"}],
        inferada=UPPER,
        stream=stream,
    )

    assert answer.status == 200
    assert asked[-1]["question"] == "my hidden"
    if stream:
        [summary] = [one["inferada"] for one in answer_events(answer) if "inferada" in one]
    else:
        summary = answer.json["inferada"]
        assert answer.json["content"][0]["text"] == "YOU SAID: MY HIDDEN"
    assert without_times(summary)["processors"] == {
        "upper": {"status": "applied", "language": "en"}
    }


@pytest.mark.parametrize("stream", [False, True])
def test_responses_take_and_return_the_object(caller: Caller, stream: bool) -> None:
    answer = post(caller, "/v1/responses", input="my secret", inferada=UPPER, stream=stream)

    assert answer.status == 200
    assert asked[-1]["question"] == "my hidden"
    whole = answer_events(answer)[-1]["response"] if stream else answer.json
    assert without_times(whole["inferada"])["processors"] == {
        "upper": {"status": "applied", "language": "en"}
    }
    text = whole["output"][0]["content"][0]["text"]
    assert text.replace(" ", "") == "YOUSAID:MYHIDDEN"


def answer_events(answer: Answer) -> list[Any]:
    lines = answer.body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def test_a_stream_that_needs_the_whole_answer_is_replayed(caller: Caller) -> None:
    wanted: dict[str, Any] = {"model": "scratch-model", "inferada": {"processors": ["backwards"]}}

    replayed = caller.ask("abc", stream=True, **wanted)

    assert replayed.headers["x-stream-mode"] == "buffered-replay"
    assert replayed.text == "cba :dias uoY"
    [summary] = [chunk["inferada"] for chunk in replayed.chunks if "inferada" in chunk]
    assert summary["streaming_disabled"] is True
    assert [one["stream"] for one in asked] == [False]


def test_the_profile_inferada_answers_with_json_but_an_sdk_with_a_stream(
    scratch: ScratchSite, caller: Caller
) -> None:
    wanted: dict[str, Any] = {"model": "scratch-model", "inferada": {"processors": ["backwards"]}}
    profile = {"x-compat-profile": "inferada"}

    sdk_headers = profile | {"x-stainless-lang": "python"}
    plain = caller.ask("abc", stream=True, headers=profile, **wanted)
    sdk = caller.ask("abc", stream=True, headers=sdk_headers, **wanted)
    unasked = caller.ask("abc", stream=False, headers=profile, **wanted)

    assert plain.headers["x-stream-mode"] == "disabled"
    assert plain.headers["content-type"].startswith("application/json")
    assert plain.json["choices"][0]["message"]["content"] == "cba :dias uoY"
    assert plain.json["inferada"]["streaming_disabled"] is True
    assert sdk.headers["x-stream-mode"] == "buffered-replay"
    assert sdk.text == "cba :dias uoY"
    assert "x-stream-mode" not in unasked.headers
    assert "streaming_disabled" not in unasked.json["inferada"]
    assert scratch.record(caller, plain)["data"]["streamed"] is False


def test_more_answers_than_one_are_refused_where_the_whole_is_needed(caller: Caller) -> None:
    wanted = {"processors": ["backwards"]}

    refused = caller.ask("abc", model="fake-model", inferada=wanted, n=2)

    assert (refused.status, refused.error["param"]) == (400, "n")
