"""Messages of OpenAI's format as contents of Gemini's."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.flows.anthropic.test_messages import PDF, PICTURES, called, data_url, result
from tests.flows.asking import CALL, LOOK_UP, sent
from tests.flows.caller import Caller
from tests.flows.gemini.asking import text, user
from tests.flows.gemini.conftest import NEWEST
from tests.flows.site import CREDENTIAL, Site

SCRIPT = text("script:echo")
HELLO = {"role": "user", "content": "Hello"}
SOUND = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt " + bytes(30)).decode()


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def sound(form: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": SOUND, "format": form}}


@pytest.mark.parametrize("stream", [False, True])
def test_the_request_has_the_apis_headers_and_address(gemini: Caller, stream: bool) -> None:
    echo = gemini.ask("script:echo", stream=stream).echo

    headers = dict(echo["headers"])
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    assert echo["path"] == f"/gemini/v1beta/models/gemini-2.5-flash:{method}"
    assert headers["x-goog-api-key"] == CREDENTIAL
    assert "authorization" not in headers


def test_a_plain_call_has_nothing_else(gemini: Caller) -> None:
    assert sent(gemini) == {"contents": [user(SCRIPT)]}


def test_a_name_with_a_slash_has_its_collection_with_it(gemini_site: Site, gemini: Caller) -> None:
    name = gemini_site.add_model(
        "gemini-full", provider="gemini", native_model="models/gemini-2.5-flash"
    )

    echo = gemini.with_(model=name).ask("script:echo").echo

    assert echo["path"] == "/gemini/v1beta/models/gemini-2.5-flash:generateContent"


def test_instructions_are_lifted_out_wherever_they_stand(gemini: Caller) -> None:
    parts = [{"type": "text", "text": "Be kind."}, {"type": "text", "text": ""}]
    body = sent(
        gemini,
        {"role": "system", "content": "Be brief."},
        HELLO,
        {"role": "developer", "content": parts},
    )

    assert body["systemInstruction"] == {"parts": [text("Be brief.\n\nBe kind.")]}
    assert body["contents"] == [user(text("Hello"), SCRIPT)]


def test_neighbours_of_one_role_are_one_turn(gemini: Caller) -> None:
    said = {"role": "assistant", "content": "Three", "reasoning": "Hm."}
    body = sent(gemini, HELLO, HELLO, said, {"role": "assistant", "content": "Four"})

    assert body["contents"] == [
        user(text("Hello"), text("Hello")),
        {"role": "model", "parts": [text("Three"), text("Four")]},
        user(SCRIPT),
    ]


def test_calls_and_results_of_tools_become_parts(gemini: Caller) -> None:
    function = {"name": "look up!", "arguments": '{"word": "sun", "n": 1.50}'}
    first = {"id": "a", "type": "function", "function": function}
    calls = [first, CALL | {"id": "b"}]
    body = sent(
        gemini,
        HELLO,
        {"role": "assistant", "content": "One moment.", "tool_calls": calls},
        {"role": "user", "content": "Hurry"},
        result("b", '{"seen": 1.50}'),
        result("a", "sun"),
        {"role": "user", "content": "Well?"},
        tools=[LOOK_UP],
    )

    _, model, responses, rest = body["contents"]
    call = {"id": "a", "name": "look_up_", "args": {"word": "sun", "n": 1.5}}
    assert model["parts"] == [
        text("One moment."),
        {"functionCall": call},
        {"functionCall": {"id": "b", "name": "look_up", "args": {}}},
    ]
    own = {"id": "b", "name": "look_up", "response": {"seen": 1.5}}
    wrapped = {"id": "a", "name": "look_up_", "response": {"output": "sun"}}
    assert responses == user({"functionResponse": own}, {"functionResponse": wrapped})
    assert rest == user(text("Hurry"), text("Well?"), SCRIPT)


def test_a_model_that_wants_signatures_gets_a_word_for_those_there_are_not(gemini: Caller) -> None:
    loop = [HELLO, called("a", "b"), result("a"), result("b")]

    body = sent(gemini.with_(model=NEWEST), *loop, tools=[LOOK_UP])

    first, second = body["contents"][1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert "thoughtSignature" not in str(sent(gemini, *loop, tools=[LOOK_UP]))


def test_pictures_go_as_bytes_or_as_addresses(gemini: Caller) -> None:
    kinds = ("image/png", "image/jpeg", "image/webp")
    urls = ["https://93.184.216.34/cat.PNG?size=2", "https://93.184.216.34/cat"]
    inline = [data_url(kind, PICTURES[kind]) for kind in kinds]

    body = sent(gemini, {"role": "user", "content": list(map(picture, (*inline, *urls)))})

    *blobs, typed, untyped = body["contents"][0]["parts"][:-1]
    assert [blob["inlineData"] for blob in blobs] == [
        {"mimeType": kind, "data": base64.b64encode(PICTURES[kind]).decode()} for kind in kinds
    ]
    assert typed == {"fileData": {"fileUri": urls[0], "mimeType": "image/png"}}
    assert untyped == {"fileData": {"fileUri": urls[1]}}


def test_sounds_and_documents_go_as_bytes(gemini: Caller) -> None:
    files = {"a.pdf": ("application/pdf", PDF), "b.txt": ("text/plain", b"Some notes")}
    parts = [
        {"type": "file", "file": {"filename": name, "file_data": data_url(*file)}}
        for name, file in files.items()
    ]

    body = sent(gemini, {"role": "user", "content": [*parts, sound("wav")]})

    blobs = [part["inlineData"] for part in body["contents"][0]["parts"][:-1]]
    assert blobs == [
        {"mimeType": "application/pdf", "data": base64.b64encode(PDF).decode()},
        {"mimeType": "text/plain", "data": base64.b64encode(b"Some notes").decode()},
        {"mimeType": "audio/wav", "data": SOUND},
    ]


GIF = picture(data_url("image/gif", PICTURES["image/gif"]))
REFUSED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "nothing said": ([{"role": "user", "content": ""}], "invalid_request", "messages"),
    "result of nothing": ([HELLO, result("a")], "invalid_request", "messages[1].tool_call_id"),
    "no result": ([HELLO, called("a")], "invalid_request", "messages"),
    "result too late": (
        [HELLO, called("a"), HELLO, {"role": "assistant", "content": "Oh"}, result("a")],
        "invalid_request",
        "messages[3]",
    ),
    "picture by http": (
        [{"role": "user", "content": [picture("http://93.184.216.34/cat.png")]}],
        "invalid_file",
        "messages[0].content[0].image_url.url",
    ),
    "gif": (
        [{"role": "user", "content": [GIF]}],
        "invalid_file",
        "messages[0].content[0].image_url.url",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_said_is_refused_before_anything_is_sent(
    gemini_site: Site, gemini: Caller, name: str
) -> None:
    messages, code, param = REFUSED[name]

    answer = gemini.ask(messages=messages)

    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, code, param)
    assert gemini_site.tries(answer.call_id) == []
