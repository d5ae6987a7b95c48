"""What providers of each dialect get of a request in Anthropic's format."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.flows.anthropic.test_messages import PDF, PICTURES
from tests.flows.messages.asking import ECHO, Body, Messenger, message_of, text_of
from tests.flows.messages.conftest import NATIVE_MODEL, PROMPTED, STRICT
from tests.flows.site import Site

MARK = {"cache_control": {"type": "ephemeral"}}
TOOL: Body = {
    "name": "look_up",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
FORMAT: Body = {
    "type": "json_schema",
    "schema": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
        "additionalProperties": False,
    },
}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"city": "Bonn"}}


def text(said: str, **more: Any) -> Body:
    return {"type": "text", "text": said, **more}


def source(media_type: str, content: bytes) -> Body:
    data = base64.b64encode(content).decode()
    return {"type": "base64", "media_type": media_type, "data": data}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def result(content: Any, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}


def said_by_tools(*blocks: Body) -> list[Body]:
    return [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [text("One moment."), CALL]},
        user(*blocks),
    ]


def test_the_apis_own_models_get_the_callers_own_bytes(claude: Messenger) -> None:
    body = (
        '{ "messages":[{"role":"user","content":[{"type":"text", "text":"script:echo",'
        '"cache_control":{"type":"ephemeral","ttl":"1h"}}]}], "max_tokens" : 77,\n'
        f'"model":"{claude.model}","system":[{{"type":"text","text":"Be  brief."}}],'
        '"temperature":0.50,"metadata":{"user_id":"someone"},"models":[],'
        '"tools":[{"name":"look_up","input_schema":{"type":"object","properties":{}}}],'
        '"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}'
    )
    answer = claude.ask(raw=body.encode())

    arrived = json.loads(text_of(message_of(answer)))["body_text"]
    expected = body.replace(f'"model":"{claude.model}"', f'"model":"{NATIVE_MODEL}"')
    expected = expected.replace(',"models":[]', "").replace("{ ", "{").replace(", ", ",", 2)
    assert json.loads(arrived) == json.loads(expected)
    for same in ('"text":"Be  brief."', '"temperature":0.50', '{"type":"text", "text":'):
        assert same in arrived
    assert "x-dropped-params" not in answer.headers


def test_features_that_are_asked_for_go_along(claude: Messenger) -> None:
    betas = "interleaved-thinking-2025-05-14, oauth-2025-04-20,fast-mode-2026-02-01"
    answer = claude.ask(ECHO, headers={"anthropic-beta": betas, "anthropic-version": "2020-01-01"})

    headers = dict(json.loads(text_of(message_of(answer)))["headers"])
    assert headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("config", [None, {"format": None}])
@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_the_older_spelling_of_a_format(
    anyone: Messenger, config: Body | None, stream: bool
) -> None:
    answer = anyone.ask(output_format=FORMAT, output_config=config, stream=stream)

    assert list(json.loads(text_of(message_of(answer)))) == ["place"]
    assert "x-dropped-params" not in answer.headers


def test_the_older_spelling_of_a_format_becomes_the_newer(claude: Messenger) -> None:
    other_format = FORMAT | {"schema": {"type": "object", "additionalProperties": False}}

    body = claude.echoed(output_format=FORMAT)
    assert body["output_config"] == {"format": FORMAT}
    assert "output_format" not in body
    body = claude.echoed(output_format=other_format, output_config={"format": FORMAT})
    assert body["output_config"] == {"format": FORMAT}


def test_features_stay_here_for_others(other: Messenger) -> None:
    answer = other.ask(ECHO, headers={"anthropic-beta": "interleaved-thinking-2025-05-14"})

    headers = dict(json.loads(text_of(message_of(answer)))["headers"])
    assert not {"anthropic-beta", "anthropic-version", "x-api-key"} & headers.keys()


def test_a_lowered_limit_leaves_room_for_the_answer(messages_site: Site, claude: Messenger) -> None:
    poor = Messenger.of(messages_site.caller(credit_nusd=4_000_000).with_(model=claude.model))
    thinking = {"type": "enabled", "budget_tokens": 8_000}
    body = poor.echoed(max_tokens=10_000, thinking=thinking)

    assert 1024 < body["max_tokens"] < 2_000
    assert body["thinking"]["budget_tokens"] == body["max_tokens"] - 1


@pytest.mark.parametrize("servers", ["[]", "[ \n]"])
def test_no_mcp_servers_ask_for_nothing(anyone: Messenger, servers: str) -> None:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": ECHO}], "model": anyone.model}
    raw = f'{json.dumps(body)[:-1]}, "mcp_servers": {servers}}}'

    answer = anyone.ask(raw=raw.encode(), headers={"x-require-parameters": "true"})

    sent = json.loads(json.loads(text_of(message_of(answer)))["body_text"])
    assert "mcp_servers" not in sent


def test_a_model_with_a_prompt_gets_a_translation(messages_site: Site, claude: Messenger) -> None:
    prompted = claude.with_(model=PROMPTED)
    body = prompted.echoed(system="Be brief.", stop_sequences=["END"], top_k=3)

    assert body["system"] == "Be kind.\n\n---\n\nBe brief."
    assert body["stop_sequences"] == ["END"]
    assert body["top_k"] == 3


def test_instructions_come_first(other: Messenger) -> None:
    body = other.echoed(system=[text("Be brief."), text("Be kind.")])

    assert body["messages"][0] == {"role": "system", "content": "Be brief.\n\nBe kind."}


def test_what_is_asked_is_said_in_other_words(other: Messenger) -> None:
    body = other.echoed(
        temperature=0.5,
        top_p=0.9,
        stop_sequences=["END"],
        metadata={"user_id": "someone"},
        tools=[TOOL],
        tool_choice={"type": "tool", "name": "look_up", "disable_parallel_tool_use": True},
        thinking={"type": "enabled", "budget_tokens": 1024},
        max_tokens=2000,
        output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}},
    )

    assert body["model"] == "fake-model"
    assert (body["temperature"], body["top_p"], body["stop"]) == (0.5, 0.9, ["END"])
    assert body["user"] == "someone"
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "description": "Look something up.",
                "parameters": TOOL["input_schema"],
            },
        }
    ]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}
    assert body["parallel_tool_calls"] is False
    assert body["reasoning_effort"] == "medium"
    wanted = {"name": "response", "schema": {"type": "object"}}
    assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert not {"thinking", "system", "metadata", "stop_sequences", "output_config"} & body.keys()


@pytest.mark.parametrize(
    ("choice", "said"), [("auto", "auto"), ("any", "required"), ("none", "none")]
)
def test_choices_of_tools(other: Messenger, choice: str, said: str) -> None:
    assert other.echoed(tools=[TOOL], tool_choice={"type": choice})["tool_choice"] == said


def test_results_of_tools_are_messages_of_their_own(other: Messenger) -> None:
    turns = said_by_tools(result([text("sun"), text("moon")]), text("Well?"))
    messages = other.echoed(*turns, tools=[TOOL])["messages"]

    function = {"name": "look_up", "arguments": '{"city":"Bonn"}'}
    assert messages[1] == {
        "role": "assistant",
        "content": "One moment.",
        "tool_calls": [{"id": "toolu_1", "type": "function", "function": function}],
    }
    assert messages[2] == {"role": "tool", "tool_call_id": "toolu_1", "content": "sun\nmoon"}
    assert messages[3] == {"role": "user", "content": [text("Well?")]}


def test_tools_that_a_tool_has_found(claude: Messenger, other: Messenger) -> None:
    found = result([{"type": "tool_reference", "tool_name": "look_up"}])
    turns = [*said_by_tools(found), {"role": "assistant", "content": "Well."}]

    native = claude.echoed(*turns, tools=[TOOL | {"defer_loading": True}])
    told = other.echoed(*turns, tools=[TOOL | {"defer_loading": True}])

    assert native["messages"][2]["content"] == [found]
    assert told["messages"][2]["content"] == "The tool look_up is available."


def test_a_tool_that_failed_says_so(other: Messenger) -> None:
    messages = other.echoed(*said_by_tools(result("gone", is_error=True)), tools=[TOOL])["messages"]

    assert messages[2]["content"] == "Error: gone"


def test_pictures_of_tools_come_after_the_results(other: Messenger) -> None:
    picture = {"type": "image", "source": source("image/png", PICTURES["image/png"])}
    messages = other.echoed(*said_by_tools(result([picture])), tools=[TOOL])["messages"]

    assert messages[2]["content"] == "See below."
    about, shown = messages[3]["content"]
    assert about["text"] == "Returned by the tool call toolu_1:"
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")


def test_pictures_and_documents(messages_site: Site, other: Messenger) -> None:
    reader = messages_site.add_model("reader-of-messages", supports_pdf=True)
    picture = {"type": "image", "source": source("image/png", PICTURES["image/png"])}
    document = {"type": "document", "title": "a.pdf", "source": source("application/pdf", PDF)}
    note = {"type": "text", "media_type": "text/plain", "data": "Dear diary"}
    diary = {"type": "document", "title": "Diary", "source": note}
    body = other.with_(model=reader).echoed(user(picture, document, diary))

    shown, file, told = body["messages"][0]["content"]
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")
    assert file["file"]["filename"] == "a.pdf"
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,")
    assert told == text("Diary\n\nDear diary")


def test_marks_for_the_cache_stay_here_for_others(other: Messenger) -> None:
    said = [user(text("A book.", **MARK)), user(text(ECHO))]
    answer = other.with_(model=STRICT).ask(
        messages=said,
        system=[text("Be brief.", **MARK)],
        tools=[TOOL | MARK],
        cache_control=MARK["cache_control"],
    )

    arrived = json.loads(text_of(message_of(answer)))["body_text"]
    assert "cache_control" not in arrived
    assert answer.headers["x-dropped-params"] == "cache_control"


def test_what_others_do_not_know_is_left_out_and_named(other: Messenger) -> None:
    answer = other.ask(
        ECHO,
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
        some_new_beta={"on": True},
        speed="fast",
        tools=[TOOL | {"defer_loading": True}],
    )

    body = json.loads(json.loads(text_of(message_of(answer)))["body_text"])
    dropped = answer.headers["x-dropped-params"].split(",")
    assert dropped == ["context_management", "defer_loading", "some_new_beta", "speed"]
    assert not {"context_management", "some_new_beta", "speed"} & body.keys()


def test_what_changes_the_price_goes_to_nobody(claude: Messenger) -> None:
    answer = claude.ask(ECHO, speed="fast", inference_geo="us")

    body = json.loads(json.loads(text_of(message_of(answer)))["body_text"])
    assert not {"speed", "inference_geo"} & body.keys()
    assert answer.headers["x-dropped-params"] == "inference_geo,speed"


def test_nothing_is_left_out_where_everything_is_required(other: Messenger) -> None:
    answer = other.ask(ECHO, some_new_beta=1, headers={"x-require-parameters": "true"})

    assert answer.status == 400
    assert answer.error["code"] == "unsupported_parameter"
    assert answer.error["param"] == "some_new_beta"
