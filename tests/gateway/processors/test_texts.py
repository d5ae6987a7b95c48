"""Every text that a model reads of a request's messages is found, and can be replaced."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.profiles import UNIFIED
from gateway.endpoints.chat_completions.read import read_call
from gateway.endpoints.chat_completions.reread import reread
from gateway.endpoints.messages.read import read_call as read_message
from gateway.endpoints.responses.read import read_call as read_response
from gateway.endpoints.rules import USUAL
from gateway.processors.texts import read_texts
from tests.fuzz.targets import head_of

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg=="
)
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"to":"Ann","deep":[{"tel":31612345678,"n":3}]}'},
}


def url(text: str, kind: str = "text/plain") -> str:
    return f"data:{kind};base64,{b64encode(text.encode()).decode()}"


def chat(*messages: dict[str, Any]) -> ChatCall:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    return read_call(body, head_of())


def messages_of(call: ChatCall) -> Any:
    return msgspec.json.decode(call.payload.fields["messages"])


async def upper(call: ChatCall) -> ChatCall:
    texts = await read_texts(call)
    return await texts.replace([one.text.upper() for one in texts.found])


async def test_texts_of_every_role_are_found_in_their_order() -> None:
    call = chat(
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": "hm", "reasoning": "I think", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"who":"Bob","ok":true}'},
        {"role": "tool", "tool_call_id": "call_1", "content": "{not json"},
    )

    texts = await read_texts(call)

    assert [(one.text, one.role, one.kind) for one in texts.found] == [
        ("be kind", "system", "text"),
        ("hello", "user", "text"),
        ("hm", "assistant", "text"),
        ("I think", "assistant", "text"),
        ("Ann", "assistant", "value"),
        ("31612345678", "assistant", "value"),
        ("Bob", "tool", "value"),
        ("{not json", "tool", "text"),
    ]
    assert texts.found[1].param == "messages[1].content[0].text"
    assert texts.found[4].param == "messages[2].tool_calls[0].function.arguments"


async def test_replaced_texts_stand_where_the_old_ones_did() -> None:
    call = chat(
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"who":"Bob","n":1234567}'},
    )

    done = await upper(call)

    [user, assistant, tool] = messages_of(done)
    assert user["content"][0]["text"] == "HELLO"
    arguments = json.loads(assistant["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"to": "ANN", "deep": [{"tel": 31612345678, "n": 3}]}
    assert json.loads(tool["content"]) == {"who": "BOB", "n": 1234567}
    assert json.loads(done.facts.body)["messages"] == messages_of(done)
    assert reread(done).payload.messages[0].content[0].text == "HELLO"


async def test_a_number_becomes_the_text_that_replaces_it() -> None:
    texts = await read_texts(
        chat(
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "y"},
        )
    )

    done = await texts.replace(["x", "Ann", "<TEL>", "y"])

    arguments = messages_of(done)[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments)["deep"] == [{"tel": "<TEL>", "n": 3}]
    assert b"<TEL>" in done.facts.body
    assert b"31612345678" not in done.facts.body


async def test_names_in_json_that_can_be_data_are_replaced_in_their_places() -> None:
    result = {"first_name": 1, "ann@mail": {"of-all": 2, "a@b": "bob"}, "x": [{"06 12": "c"}]}
    call = chat(
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps(result)},
    )

    texts = await read_texts(call)
    done = await texts.replace([one.text.upper() for one in texts.found])

    names = [(one.text, one.role, one.param) for one in texts.found if one.kind == "name"]
    where = "messages[2].content"
    assert names == [(name, "tool", where) for name in ("ann@mail", "a@b", "06 12")]
    replaced = json.loads(messages_of(done)[2]["content"])
    assert json.dumps(replaced) == json.dumps(
        {"first_name": 1, "ANN@MAIL": {"of-all": 2, "A@B": "BOB"}, "x": [{"06 12": "C"}]}
    )
    # The body as the caller wrote it, too.
    assert json.loads(done.facts.body)["messages"] == messages_of(done)


async def test_a_call_whose_texts_stay_is_the_same_call() -> None:
    call = chat({"role": "user", "content": "hello"})
    texts = await read_texts(call)

    assert await texts.replace(["hello"]) is call


async def test_files_are_texts_or_cannot_be_scanned() -> None:
    file = {"type": "file", "file": {"filename": "a.txt", "file_data": url("note of Ann")}}
    plain = {"type": "file", "data": b64encode(b"note of Bob").decode(), "mime_type": "text/csv"}
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    call = chat({"role": "user", "content": [file, plain, picture]})

    texts = await read_texts(call)
    done = await texts.replace([one.text.upper() for one in texts.found])

    assert [(one.text, one.kind) for one in texts.found] == [
        ("a", "text"),
        ("note of Ann", "file"),
        ("file", "text"),
        ("note of Bob", "file"),
    ]
    assert texts.unscannable == ["messages[0].content[2]"]
    [first, second, third] = messages_of(done)[0]["content"]
    assert first["file"]["file_data"] == url("NOTE OF ANN")
    assert second["file"]["file_data"] == url("NOTE OF BOB", "text/csv")
    assert third == picture
    stored = json.loads(done.facts.body)["messages"][0]["content"]
    assert b64decode(stored[1]["data"]) == b"NOTE OF BOB"


async def test_the_body_of_messages_has_the_same_texts_replaced() -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "be kind"}],
        "messages": [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"to": "ann"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}],
            },
        ],
    }

    done = await upper(read_message(json.dumps(body).encode(), head_of()))

    stored = json.loads(done.facts.body)
    assert done.payload.native is None
    assert stored["system"][0]["text"] == "BE KIND"
    assert stored["messages"][0]["content"] == "HELLO"
    assert stored["messages"][1]["content"][0]["input"] == {"to": "ANN"}
    assert stored["messages"][2]["content"][0]["content"] == "DONE"
    assert (stored["model"], stored["messages"][1]["content"][0]["name"]) == ("m", "f")


async def test_the_body_of_responses_has_the_same_texts_replaced() -> None:
    body = {
        "model": "m",
        "instructions": "be kind",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {
                "type": "function_call",
                "call_id": "c",
                "name": "f",
                "arguments": '{"to":"ann"}',
            },
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ],
    }

    done = await upper(read_response(json.dumps(body).encode(), head_of(), UNIFIED, USUAL))

    stored = json.loads(done.facts.body)
    assert stored["instructions"] == "BE KIND"
    assert stored["input"][0]["content"][0]["text"] == "HELLO"
    assert json.loads(stored["input"][1]["arguments"]) == {"to": "ANN"}
    assert stored["input"][2]["output"] == "DONE"
