"""Stored bodies of every endpoint as the page of a call shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.calls.transcript import Transcript, read_request, read_response
from tests.flows.audio.asking import ask as ask_audio
from tests.flows.caller import Answer, Caller
from tests.flows.plain.asking import add_priced
from tests.flows.site import Site
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
MODEL = "transcripts"
TOOL = {"name": "look_up", "parameters": {"type": "object"}}
CLAUDES_TOOL = {"name": "look_up", "input_schema": {"type": "object"}}
PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
ARGUMENTS = {"city": "Paris"}


@pytest.fixture(scope="module")
def keeper(site: Site) -> Caller:
    """A caller whose workspace stores bodies, of a model for everything."""
    caller = site.caller().with_(model=add_priced(site, MODEL, supports_vision=True))
    site.office.do("store_bodies", workspace_id=caller.workspace_id)

    def is_stored() -> bool:
        answer = caller.ask()
        site.record(answer.call_id)
        return site.office.do("body", call_id=answer.call_id) is not None

    wait_until(is_stored, what="bodies to be stored")
    return caller


class Asked:
    """A call, and what is stored of it."""

    def __init__(self, site: Site, caller: Caller, path: str, **body: Any) -> None:
        if path.startswith("audio/"):
            self.answer: Answer = ask_audio(caller, path.removeprefix("audio/"), **body)
        else:
            raw = json.dumps({"model": MODEL} | body).encode()
            self.answer = caller.ask(path=f"/v1/{path}", raw=raw)
        endpoint = site.record(self.answer.call_id)["endpoint"]
        stored = site.office.do("body", call_id=self.answer.call_id)
        self.request: Transcript = read_request(stored["request"], endpoint)
        self.response: Transcript = read_response(stored["response"], endpoint)


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def facts(transcript: Transcript) -> dict[str, str]:
    return dict(transcript.facts)


@BOTH
def test_messages(site: Site, keeper: Caller, stream: bool) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": ARGUMENTS}
    picture = {"type": "base64", "media_type": "image/gif", "data": PICTURE.rpartition(",")[2]}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}
    script = "script:tools=1&reasoning=2"
    asked = Asked(
        *(site, keeper, "messages"),
        max_tokens=50,
        stream=stream,
        system=[{"type": "text", "text": "Be brief."}],
        tools=[CLAUDES_TOOL],
        messages=[
            {"role": "user", "content": [{"type": "image", "source": picture}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Hm."}, block]},
            {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]},
            {"role": "user", "content": script},
        ],
    )

    request = asked.request.messages
    assert said(asked.request) == [
        ("system", "Be brief."),
        ("user", ""),
        ("assistant", "Hm."),
        ("tool", "Rain"),
        ("user", "Well?"),
        ("user", script),
    ]
    assert request[1].parts == ["image"]
    [call] = request[2].tool_calls
    assert (call.name, call.id, json.loads(call.arguments)) == ("look_up", "toolu_1", ARGUMENTS)
    assert request[3].note == "toolu_1"
    assert facts(asked.request)["tools"] == "look_up"
    [message] = asked.response.messages
    assert (message.role, message.reasoning) == ("assistant", "think0 think1 ")
    assert message.note == "stop reason tool_use"
    [call] = message.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("look_up", ARGUMENTS)
    assert facts(asked.response)["output tokens"]
    assert (asked.response.is_stream, asked.response.is_cut) == (stream, False)


@BOTH
def test_responses(site: Site, keeper: Caller, stream: bool) -> None:
    script = "script:tools=1&reasoning=2"
    call = {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "{}"}
    asked = Asked(
        *(site, keeper, "responses"),
        stream=stream,
        instructions="Be brief.",
        tools=[{"type": "function", **TOOL}],
        input=[
            {"role": "user", "content": [{"type": "input_image", "image_url": PICTURE}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            call,
            {"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
            {"type": "function_call_output", "call_id": "call_1", "output": "Rain"},
            {"role": "user", "content": script},
        ],
    )

    request = asked.request.messages
    assert said(asked.request) == [
        ("system", "Be brief."),
        ("user", ""),
        ("assistant", "Yes."),
        ("tool", "Rain"),
        ("user", script),
    ]
    assert request[1].parts == ["input_image"]
    assert (request[2].reasoning, request[2].tool_calls[0].id) == ("Hm.", "call_1")
    assert request[3].note == "call_1"
    assert facts(asked.request)["tools"] == "look_up"
    [message] = asked.response.messages
    assert (message.role, message.reasoning) == ("assistant", "think0 think1 ")
    [made] = message.tool_calls
    assert (made.name, json.loads(made.arguments)) == ("look_up", ARGUMENTS)
    assert message.note == "status completed"
    assert facts(asked.response)["reasoning tokens"] == "2"
    assert (asked.response.is_stream, asked.response.is_cut) == (stream, False)


@pytest.mark.parametrize("path", ["messages", "responses", "completions"])
def test_a_stream_that_broke_shows_what_there_was(site: Site, keeper: Caller, path: str) -> None:
    script = "script:tokens=9&reasoning=1&reset_after=4"
    bodies: dict[str, dict[str, Any]] = {
        "messages": {"messages": [{"role": "user", "content": script}], "max_tokens": 50},
        "responses": {"input": script},
        "completions": {"prompt": script},
    }

    asked = Asked(site, keeper, path, stream=True, **bodies[path])

    assert asked.response.is_cut
    assert "tok0 tok1" in "".join(message.text for message in asked.response.messages)


@BOTH
def test_completions(site: Site, keeper: Caller, stream: bool) -> None:
    asked = Asked(site, keeper, "completions", prompt="script:tokens=2", stream=stream, n=2)

    assert said(asked.request) == [("prompt", "script:tokens=2")]
    assert said(asked.response) == [("completion", "tok0 tok1 ")] * 2
    assert asked.response.messages[0].note == "finish reason stop"
    assert asked.response.is_stream is stream


@pytest.mark.parametrize("form", ["float", "base64"])
def test_embeddings(site: Site, keeper: Caller, form: str) -> None:
    asked = Asked(site, keeper, "embeddings", input=["one", "two"], encoding_format=form)

    assert said(asked.request) == [("input", "one"), ("input", "two")]
    assert [message.parts for message in asked.response.messages] == [["8 numbers"]] * 2
    assert (asked.response.messages[0].text[:2] == "1.") == (form == "float")


def test_other_operations(site: Site, keeper: Caller) -> None:
    images = Asked(site, keeper, "images/generations", prompt="A bicycle", n=2, size="1024x1024")
    assert said(images.request) == [("prompt", "A bicycle")]
    assert facts(images.request)["size"] == "1024x1024"
    assert [message.parts for message in images.response.messages] == [["5 bytes"]] * 2

    moderations = Asked(site, keeper, "moderations", input=["Bread", "Blood"])
    assert said(moderations.request) == [("input", "Bread"), ("input", "Blood")]
    first, second = moderations.response.messages
    assert (first.parts, first.text) == (["not flagged"], "")
    assert second.parts == ["flagged"]
    assert "harassment" in second.text

    ranking = Asked(site, keeper, "rerank", query="Bread?", documents=["A", "B"])
    assert said(ranking.request) == [("query", "Bread?"), ("document", "A"), ("document", "B")]
    assert [message.note for message in ranking.request.messages] == ["", "0", "1"]
    best = ranking.response.messages[0]
    assert best.note.startswith("document ")
    assert best.parts[0].startswith("score 0.")


@pytest.mark.parametrize("operation", ["transcriptions", "translations"])
@pytest.mark.parametrize("form", ["json", "verbose_json", "text", "srt"])
def test_recordings(site: Site, keeper: Caller, operation: str, form: str) -> None:
    prompt = "script:text=red+water"

    asked = Asked(site, keeper, f"audio/{operation}", prompt=prompt, response_format=form)

    assert said(asked.request) == [("recording", "a.mp3"), ("prompt", prompt)]
    assert asked.request.messages[0].parts == ["32,000 bytes"]
    assert facts(asked.request) == {"model": MODEL, "response format": form}
    [(role, text)] = said(asked.response)
    assert role == "transcript"
    assert "red" in text
    assert ("seconds" in facts(asked.response)) == ("json" in form)


def test_streamed_recordings(site: Site, keeper: Caller) -> None:
    members = {"prompt": "script:text=red+water", "stream": "true"}

    asked = Asked(site, keeper, "audio/transcriptions", **members)

    assert said(asked.response) == [("transcript", "red water")]
    assert facts(asked.response)["seconds"] == "2"
    assert (asked.response.is_stream, asked.response.is_cut) == (True, False)


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
def test_speech(site: Site, keeper: Caller, stream_format: str) -> None:
    wishes = {"instructions": "Whisper.", "stream_format": stream_format}

    asked = Asked(site, keeper, "audio/speech", input="Hello.", **wishes)

    assert said(asked.request) == [("input", "Hello."), ("instructions", "Whisper.")]
    assert facts(asked.request)["voice"] == "alloy"
    if stream_format == "audio":
        assert asked.response.messages[0].parts == ["audio/mpeg"]
    else:
        assert facts(asked.response)["characters"] == "6"
        assert not asked.response.is_cut
