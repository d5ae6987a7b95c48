"""Messages of OpenAI's format as turns of Anthropic's."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.flows.anthropic.asking import text
from tests.flows.anthropic.conftest import BUDGETED, NATIVE
from tests.flows.asking import CALL, ECHO, LOOK_UP, sent
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site

PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 90,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 90,
    "image/gif": b"GIF89a" + b"\0" * 90,
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 90,
}
PDF = b"%PDF-1.7\n1 0 obj\n" + b"\0" * 90
MARK = {"cache_control": {"type": "ephemeral"}}


def data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def called(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [CALL | {"id": i} for i in ids]}


def result(call_id: str, said: str = "sun") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def test_the_request_has_the_apis_headers_and_address(claude: Caller) -> None:
    answer = claude.ask("script:echo")

    headers = dict(answer.echo["headers"])
    assert answer.echo["path"] == "/anthropic/v1/messages"
    assert headers["x-api-key"] == CREDENTIAL
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


def test_instructions_are_lifted_out_wherever_they_stand(claude: Caller) -> None:
    body = sent(
        claude,
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "developer", "content": [text("Be kind."), text(" ")]},
    )

    assert body["system"] == "Be brief.\n\nBe kind."
    assert body["messages"] == [
        {"role": "user", "content": [text("Hello"), text("script:echo")]},
    ]


def test_a_mark_for_the_cache_goes_through(claude: Caller) -> None:
    tool = LOOK_UP | MARK
    body = sent(
        claude,
        {"role": "system", "content": [text("Long."), text("Longer.", **MARK)]},
        {"role": "user", "content": [text("A book.", **MARK)]},
        {"role": "assistant", "content": "Read."} | MARK,
        tools=[tool],
    )

    assert body["system"] == [text("Long."), text("Longer.", **MARK)]
    assert body["messages"][0]["content"] == [text("A book.", **MARK)]
    assert body["messages"][1]["content"] == [text("Read.", **MARK)]
    assert body["tools"][0]["cache_control"] == MARK["cache_control"]


def test_neighbours_of_one_role_are_one_turn(claude: Caller) -> None:
    body = sent(
        claude,
        {"role": "user", "content": "One"},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": "Three"},
        {"role": "assistant", "content": "Four"},
    )

    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"] == [text("One"), text("Two")]
    assert body["messages"][1]["content"] == [text("Three"), text("Four")]


def test_calls_and_results_of_tools_become_blocks(claude: Caller) -> None:
    call = {"name": "look_up", "arguments": '{"word": "sun", "n": 1.50}'}
    first = {"id": "a", "type": "function", "function": call}
    body = sent(
        claude,
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "One moment.", "tool_calls": [first, CALL | {"id": "b"}]},
        result("b", "moon"),
        result("a", "sun"),
        {"role": "user", "content": "Well?"},
        tools=[LOOK_UP],
    )

    _, calls, results = body["messages"]
    assert calls["content"] == [
        text("One moment."),
        {"type": "tool_use", "id": "a", "name": "look_up", "input": {"word": "sun", "n": 1.5}},
        {"type": "tool_use", "id": "b", "name": "look_up", "input": {}},
    ]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "b", "content": [text("moon")]},
        {"type": "tool_result", "tool_use_id": "a", "content": [text("sun")]},
        text("Well?"),
        text("script:echo"),
    ]


def test_results_come_before_what_was_said_meanwhile(claude: Caller) -> None:
    body = sent(
        claude,
        {"role": "user", "content": "Look"},
        called("a"),
        {"role": "user", "content": "Hurry"},
        result("a", ""),
        tools=[LOOK_UP],
    )

    kinds = [block["type"] for block in body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text", "text"]
    assert body["messages"][-1]["content"][0] == {"type": "tool_result", "tool_use_id": "a"}


def test_ids_and_names_of_other_providers_are_made_to_fit(claude: Caller) -> None:
    strange = {"name": "functions.look up", "arguments": ""}
    body = sent(
        claude,
        {"role": "user", "content": "Look"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "functions.x:0", "type": "function", "function": strange}],
        },
        result("functions.x:0"),
        called("functions_x_0"),
        result("functions_x_0"),
        called("functions.x:0"),
        result("functions.x:0"),
        tools=[LOOK_UP],
    )

    uses = [turn["content"][0] for turn in body["messages"] if turn["role"] == "assistant"]
    answered = [
        block["tool_use_id"]
        for turn in body["messages"]
        for block in turn["content"]
        if block["type"] == "tool_result"
    ]
    assert [use["id"] for use in uses] == answered
    assert answered == ["functions_x_0", "functions_x_0_2", "functions_x_0_3"]
    assert uses[0]["name"] == "functions_look_up"


def test_pictures_go_as_bytes_or_as_addresses(claude: Caller) -> None:
    inline = [data_url(kind, content) for kind, content in PICTURES.items()]
    urls = [*inline, "https://93.184.216.34/cat.png"]
    parts = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]

    body = sent(claude, {"role": "user", "content": parts})

    blocks = body["messages"][0]["content"][:-1]
    assert [block["source"] for block in blocks[:-1]] == [
        {"type": "base64", "media_type": kind, "data": base64.b64encode(content).decode()}
        for kind, content in PICTURES.items()
    ]
    assert blocks[-1]["source"] == {"type": "url", "url": "https://93.184.216.34/cat.png"}


def test_files_are_documents_or_pictures(claude: Caller) -> None:
    files = {
        "notes.txt": data_url("text/plain", b"Some notes"),
        "cat.png": data_url("image/png", PICTURES["image/png"]),
    }
    parts = [
        {"type": "file", "file": {"filename": name, "file_data": url}}
        for name, url in files.items()
    ]

    body = sent(claude, {"role": "user", "content": parts})

    notes, cat, _ = body["messages"][0]["content"]
    source = {"type": "text", "media_type": "text/plain", "data": "Some notes"}
    assert notes == {"type": "document", "source": source, "title": "notes.txt"}
    assert cat["source"]["media_type"] == "image/png"


def test_a_pdf_goes_as_it_is_to_a_model_that_reads_them(claude_site: Site, claude: Caller) -> None:
    fields = {"native_model": NATIVE[BUDGETED], "supports_pdf": True}
    reader = claude.with_(model=claude_site.add_model("reader", provider="claude", **fields))
    url = data_url("application/pdf", PDF)
    part = {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}

    body = sent(reader, {"role": "user", "content": [part]})

    data = base64.b64encode(PDF).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    document = {"type": "document", "source": source, "title": "a.pdf"}
    assert body["messages"][0]["content"][0] == document


def test_blank_text_is_left_out(claude: Caller) -> None:
    body = sent(
        claude,
        {"role": "system", "content": ""},
        {"role": "user", "content": [text(""), text("Hello")]},
        {"role": "assistant", "content": "\n"},
    )

    assert "system" not in body
    assert body["messages"] == [
        {"role": "user", "content": [text("Hello"), text("script:echo")]},
    ]


def test_an_answer_that_is_begun_ends_without_white_space(claude: Caller) -> None:
    answer = claude.ask(messages=[ECHO, {"role": "assistant", "content": "So: \n"}])

    assert answer.status == 200, answer.body
    last = json.loads(answer.echo["body_text"])["messages"][-1]
    assert last == {"role": "assistant", "content": [text("So:")]}


def test_reasoning_of_the_past_stays_here(claude: Caller) -> None:
    said = {"role": "assistant", "content": "Yes", "reasoning": "Hm.", "name": "Bot"}

    body = sent(claude, {"role": "user", "content": "So?"}, said)

    assert body["messages"][1] == {"role": "assistant", "content": [text("Yes")]}


def test_fields_that_mean_nothing_where_they_stand_may_be_anything(claude: Caller) -> None:
    body = sent(
        claude,
        {"role": "user", "content": [text("A", image_url=7, file=[])], "refusal": 7},
        {"role": "assistant", "content": "B", "tool_call_id": {}, "reasoning_content": "Hm."},
        {"role": "user", "content": "C", "tool_calls": "x", "cache_control": None},
    )

    assert [turn["content"] for turn in body["messages"]] == [
        [text("A")],
        [text("B")],
        [text("C"), text("script:echo")],
    ]


def test_a_refusal_of_the_past_is_text(claude: Caller) -> None:
    parts = [{"type": "refusal", "refusal": "No."}]
    body = sent(
        claude,
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": None, "refusal": "Never."},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": parts, "refusal": "Not said twice."},
    )

    said = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    assert said == [[text("Never.")], [text("No.")]]


@pytest.mark.parametrize(
    "asked",
    [
        {"messages": [{"role": "user", "content": [text("Hi", cache_control="x")]}]},
        {"messages": [{"role": "user", "content": "Hi", "cache_control": 7}]},
        {"tools": [LOOK_UP | {"cache_control": "x"}]},
        {"tools": [{"type": "custom", "custom": {"name": "a"}, "function": 7}]},
        {
            "tools": [LOOK_UP],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": 7}}]},
            },
        },
    ],
    ids=str,
)
def test_what_makes_no_sense_to_the_api_is_the_callers_fault(
    claude: Caller, asked: dict[str, Any]
) -> None:
    answer = claude.ask(**asked)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request"), answer.body


PICTURE_BY_HTTP = {"type": "image_url", "image_url": {"url": "http://example.com/cat.png"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRiQAAABXQVZF", "format": "wav"}}
USER = {"role": "user", "content": "Hello"}
REFUSED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "assistant first": (
        [{"role": "assistant", "content": "Hi"}, USER],
        "invalid_request",
        "messages[0]",
    ),
    "nothing said": ([{"role": "user", "content": " "}], "invalid_request", "messages"),
    "result of nothing": ([USER, result("a")], "invalid_request", "messages[1].tool_call_id"),
    "no result": ([USER, called("a")], "invalid_request", "messages"),
    "result too late": (
        [USER, called("a"), USER, {"role": "assistant", "content": "Oh"}, result("a")],
        "invalid_request",
        "messages[3]",
    ),
    "function": (
        [USER, {"role": "function", "name": "a", "content": "b"}],
        "invalid_request",
        "messages[1].name",
    ),
    "function without a result": (
        [USER, {"role": "assistant", "function_call": {"name": "a", "arguments": "{}"}}, USER],
        "invalid_request",
        "messages",
    ),
    "picture by http": (
        [{"role": "user", "content": [PICTURE_BY_HTTP]}],
        "invalid_file",
        "messages[0].content[0].image_url.url",
    ),
    "sound": (
        [{"role": "user", "content": [SOUND]}],
        "audio_not_supported_by_model",
        "messages[0].content[0]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_said_is_refused_before_anything_is_sent(
    claude_site: Site, claude: Caller, name: str
) -> None:
    messages, code, param = REFUSED[name]

    answer = claude.ask(messages=messages)

    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, code, param)
    assert claude_site.tries(answer.call_id) == []
