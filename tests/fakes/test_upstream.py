"""The fake upstream speaks the dialect, does what its script says and keeps an honest book."""

from __future__ import annotations

import json
import struct
import urllib.request
import uuid
from base64 import b64encode
from typing import Any

import pytest

from tests.fakes.asking import Reply, ask, connect, read_reply, request_bytes, script
from tests.support.servers import UpstreamServer
from tests.support.waiting import wait_until

Upstream = UpstreamServer
USAGE = {"stream_options": {"include_usage": True}}


def picture_of(width: int, kind: bytes = b"IHDR") -> str:
    """Return the beginning of a PNG, up to its size, in base64."""
    head = struct.pack(">I4sII", 13, kind, width, 7)
    return b64encode(b"\x89PNG\r\n\x1a\n" + head).decode()


def entries(upstream: Upstream, request_id: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{upstream.origin}/book?id={request_id}", timeout=60) as answer:
        calls: list[dict[str, Any]] = json.load(answer)["calls"]
    return calls


def test_an_ordinary_prompt_gets_ten_tokens_and_true_usage(upstream: Upstream) -> None:
    reply = ask(upstream, "one two three")

    assert reply.status == 200
    assert reply.text == "tok0 tok1 tok2 tok3 tok4 tok5 tok6 tok7 tok8 tok9 "
    assert reply.json["usage"]["prompt_tokens"] == 3
    assert reply.json["usage"]["completion_tokens"] == 10
    assert reply.json["choices"][0]["finish_reason"] == "stop"


def test_template_and_player_write_the_same_stream(upstream: Upstream) -> None:
    plain = ask(upstream, script(tokens=4), stream=True, **USAGE)
    played = ask(upstream, script(tokens=4, delay_ms=1), stream=True, **USAGE)

    def without_identity(events: list[Any]) -> list[Any]:
        same = {"id": "", "created": 0}
        return [event if event == "[DONE]" else event | same for event in events]

    assert without_identity(plain.events) == without_identity(played.events)
    assert plain.said == "tok0 tok1 tok2 tok3 "
    assert plain.events[-1] == "[DONE]"
    assert plain.events[-2]["usage"]["completion_tokens"] == 4


def test_answers_have_ids_of_their_own(upstream: Upstream) -> None:
    first, second = ask(upstream, "hi"), ask(upstream, "hi")

    assert first.json["id"] != second.json["id"]


@pytest.mark.parametrize("spelling", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_callers_limit_ends_the_answer(upstream: Upstream, spelling: str, stream: bool) -> None:
    reply = ask(upstream, "hi", stream=stream, **{spelling: 3})

    assert (reply.said if stream else reply.text) == "tok0 tok1 tok2 "
    last = reply.events[-2] if stream else reply.json
    assert last["choices"][0]["finish_reason"] == "length"


def test_streams_without_the_option_carry_no_usage(upstream: Upstream) -> None:
    reply = ask(upstream, "hi", stream=True)

    assert b"usage" not in reply.body


@pytest.mark.parametrize(
    ("how", "reported"),
    [
        ("wrong:-5", {"completion_tokens": -5}),
        ("wrong:1e18", {"completion_tokens": 1e18}),
        ('wrong:"12"', {"completion_tokens": "12"}),
        ("wrong:null", {"completion_tokens": None}),
        ("zero", {"completion_tokens": 0}),
        ("raw:{}", {}),
    ],
)
def test_usage_is_falsified_as_told_and_the_book_stays_true(
    upstream: Upstream, how: str, reported: dict[str, Any]
) -> None:
    request_id = str(uuid.uuid4())

    reply = ask(upstream, script(tokens=6, usage=how), request_id=request_id)

    assert reported.items() <= reply.json["usage"].items()
    [entry] = entries(upstream, request_id)
    assert entry["completion_tokens"] == 6
    assert entry["reported_usage"] == reply.json["usage"]


def test_usage_can_be_missing_or_null(upstream: Upstream) -> None:
    assert "usage" not in ask(upstream, script(usage="none")).json
    assert ask(upstream, script(usage="null")).json["usage"] is None


def test_reasoning_is_told_apart_and_counted(upstream: Upstream) -> None:
    told = script(reasoning=2, tokens=1, reasoning_field="reasoning")

    reply = ask(upstream, told, stream=True, **USAGE)

    deltas = [event["choices"][0]["delta"] for event in reply.events[:-1] if event["choices"]]
    assert [delta["reasoning"] for delta in deltas if "reasoning" in delta] == [
        "think0 ",
        "think1 ",
    ]
    assert reply.events[-2]["usage"]["completion_tokens"] == 3
    assert reply.events[-2]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_tool_calls_stream_in_pieces_that_add_up(upstream: Upstream) -> None:
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]
    arguments = ""

    reply = ask(upstream, script(tools=1), stream=True, tools=tools)
    buffered = ask(upstream, script(tools=1), tools=tools)

    for event in reply.events[1:-2]:
        [call] = event["choices"][0]["delta"]["tool_calls"]
        arguments += call["function"]["arguments"]
    assert reply.events[-2]["choices"][0]["finish_reason"] == "tool_calls"
    [whole] = buffered.json["choices"][0]["message"]["tool_calls"]
    assert whole["function"] == {"name": "look_up", "arguments": arguments}
    assert json.loads(arguments) == {"city": "Paris"}


def test_a_tools_answer_gets_text_back(upstream: Upstream) -> None:
    messages = [
        {"role": "user", "content": script(tools=1, tokens=2)},
        {"role": "tool", "tool_call_id": "call_0", "content": "sunny"},
    ]

    reply = ask(upstream, "", messages=messages)

    assert reply.text == "tok0 tok1 "


def test_a_json_schema_is_obeyed(upstream: Upstream) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
        },
        "$defs": {"size": {"type": "integer", "minimum": 3}},
    }
    answer_format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    reply = ask(upstream, "hi", response_format=answer_format)

    assert json.loads(reply.text) == {"name": "tok0", "kind": "a", "sizes": [3]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": "object", "properties": ["a"]},
        {"$ref": "#/$defs/nowhere"},
        {"enum": []},
        {"anyOf": {}},
        7,
    ],
    ids=str,
)
def test_a_schema_that_makes_no_sense_is_refused(upstream: Upstream, schema: Any) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    for prompt in ("hi", script(echo=1)):
        reply = ask(upstream, prompt, response_format=wanted)

        assert reply.status == 400
        assert reply.json["error"]["message"].startswith("Invalid schema for response_format")


@pytest.mark.parametrize(
    "data", ["", "!", picture_of(0), picture_of(7, b"IDAT"), picture_of(7)[:20]]
)
def test_a_picture_whose_size_cannot_be_read_is_refused(upstream: Upstream, data: str) -> None:
    def look(data: str) -> Reply:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        told = {"type": "text", "text": script(counts="o200k", tokens=1)}
        return ask(upstream, "", messages=[{"role": "user", "content": [picture, told]}])

    assert look(picture_of(7)).status == 200
    assert (look(data).status, look(data).json["error"]["message"]) == (
        400,
        "You uploaded an unsupported image.",
    )


def test_several_choices_and_logprobs_come_when_asked_for(upstream: Upstream) -> None:
    reply = ask(upstream, script(tokens=2), n=2, logprobs=True, top_logprobs=1)

    assert [choice["index"] for choice in reply.json["choices"]] == [0, 1]
    first = reply.json["choices"][0]["logprobs"]["content"][0]
    assert (first["token"], len(first["top_logprobs"])) == ("tok0 ", 1)
    assert reply.json["usage"]["completion_tokens"] == 4


def test_echo_shows_what_was_received(upstream: Upstream) -> None:
    received = json.loads(ask(upstream, script(echo=1), temperature=0.5).text)

    assert received["path"] == "/v1/chat/completions"
    assert ["host", "fake"] in received["headers"]
    assert json.loads(received["body_text"])["temperature"] == 0.5


def test_a_misspelt_script_is_refused(upstream: Upstream) -> None:
    assert ask(upstream, "script:tokns=3").status == 400
    assert ask(upstream, "script:sse=crfl").status == 400
    assert ask(upstream, "script:tokens=many").status == 400
    assert ask(upstream, "script:body=pdf&fail=500").status == 400


def test_pipelined_requests_are_answered_in_order(upstream: Upstream) -> None:
    with connect(upstream) as link:
        link.sendall(request_bytes(script(text="slow", first_ms=30)) + request_bytes("hi"))
        first = read_reply(link)
        second = read_reply(link, first.rest)

    assert first.text == "slow"
    assert second.text.startswith("tok0")


def test_the_book_counts_tries_and_can_be_cleared(upstream: Upstream) -> None:
    request_id = str(uuid.uuid4())
    told = script(fail=500, fail_times=1)

    statuses = [ask(upstream, told, request_id=request_id).status for _ in range(2)]

    assert statuses == [500, 200]
    states = [(entry["attempt"], entry["state"]) for entry in entries(upstream, request_id)]
    assert states == [(1, "failed"), (2, "done")]
    upstream.clear()
    assert entries(upstream, request_id) == []


@pytest.mark.parametrize(("told", "before"), [({}, 0), ({"stall_after": 2}, 2)])
def test_a_gate_is_waited_for_and_stays_open(
    upstream: Upstream, told: dict[str, Any], before: int
) -> None:
    request_id, gate = str(uuid.uuid4()), str(uuid.uuid4())
    asked = script(tokens=4, gate=gate, **told)

    def made() -> list[int]:
        return [entry["completion_tokens"] for entry in entries(upstream, request_id)]

    with connect(upstream) as link:
        link.sendall(request_bytes(asked, stream=True, request_id=request_id))
        wait_until(lambda: made() == [before], what="the call to come to the gate")
        upstream.open_gate(gate)
        reply = read_reply(link)

    assert reply.said == ask(upstream, asked, stream=True).said == "tok0 tok1 tok2 tok3 "
