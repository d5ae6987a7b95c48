"""Pictures and files among the results of tools, as frameworks send them in chat completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.pairs.conversation import PNG
from tests.flows.site import Site

IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
TEXT = {"type": "text", "text": "A photo."}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for one in ("call_a", "call_b")
    ],
}
ASK = {"role": "user", "content": "Look."}
ECHO = {"role": "user", "content": "script:echo"}


def result(call_id: str, *content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": list(content)}


@pytest.fixture
def seer(files_site: Site) -> Caller:
    return files_site.caller().with_(model="picture-model")


def test_a_picture_that_a_tool_returned_follows_the_results(seer: Caller) -> None:
    results = [result("call_a", IMAGE), result("call_b", TEXT, IMAGE)]

    answer = seer.ask(messages=[ASK, CALLS, *results, ECHO])

    assert answer.status == 200, answer.body
    sent = json.loads(answer.echo["body_text"])["messages"]
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "tool",
        "tool",
        *["user"] * 2,
    ]
    assert sent[2]["content"] == "(The result follows as a file.)"
    assert sent[3]["content"] == [TEXT]
    assert sent[4]["content"] == [
        {"type": "text", "text": "Returned by the tool call call_a:"},
        IMAGE,
        {"type": "text", "text": "Returned by the tool call call_b:"},
        IMAGE,
    ]


@pytest.mark.parametrize(
    ("part", "member", "code"),
    [
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ".image_url.url",
            "invalid_file",
        ),
        (
            {"type": "image_url", "image_url": {"url": "ftp://a.example/"}},
            ".image_url.url",
            "invalid_request",
        ),
        ({"type": "file", "file": {"file_id": "file-none"}}, "", "file_not_found"),
        ({"type": "video"}, ".type", "invalid_request"),
    ],
)
def test_a_refusal_names_its_place_in_the_request(
    seer: Caller, part: dict[str, Any], member: str, code: str
) -> None:
    results = [result("call_a", IMAGE), result("call_b", TEXT, part)]

    answer = seer.ask(messages=[ASK, CALLS, *results, ECHO])

    assert (answer.status, answer.error["code"]) == (400, code)
    assert answer.error["param"] == f"messages[3].content[1]{member}"


def test_a_model_without_vision_gets_none(files_site: Site) -> None:
    reader = files_site.caller().with_(model="text-model")

    answer = reader.ask(messages=[ASK, CALLS, result("call_a", IMAGE), result("call_b", TEXT)])

    assert (answer.status, answer.error["code"]) == (400, "image_not_supported_by_model")


def test_a_role_may_be_written_with_escapes(seer: Caller) -> None:
    turns = [ASK, CALLS, result("call_a", IMAGE), result("call_b", TEXT)]
    body = {"model": "picture-model", "messages": turns}
    raw = json.dumps(body).replace('"tool"', '"\\u0074ool"').encode()

    answer = seer.begin(raw=raw).answer()

    assert answer.status == 200, answer.body
