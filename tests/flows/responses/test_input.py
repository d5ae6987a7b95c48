"""What a request says, as the provider gets it."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.responses.asking import ECHO, LOOK_UP, respond, response_of, sent

PNG = "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 90).decode()
CALL = {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "{}"}


def test_a_text_is_a_users_message(caller: Caller) -> None:
    body = sent(caller, "hello")

    assert body["messages"][0] == {"role": "user", "content": "hello"}


def test_instructions_and_roles(caller: Caller) -> None:
    given = [
        {"role": "developer", "content": "Be kind."},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Yes"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "hi", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
    ]

    body = sent(caller, given, instructions="Be short.")

    assert body["messages"][:-1] == [
        {"role": "system", "content": "Be short."},
        {"role": "developer", "content": "Be kind."},
        {"role": "system", "content": [{"type": "text", "text": "Yes"}]},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "no"}],
        },
    ]


def test_a_turn_of_the_model_is_one_message(caller: Caller) -> None:
    given = [
        {"role": "user", "content": "Look it up."},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "So"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
        CALL | {"id": "fc_1", "status": "completed"},
        CALL | {"call_id": "call_2"},
        {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": [{"type": "input_text", "text": "sun"}],
        },
    ]

    messages = sent(caller, given, tools=[LOOK_UP])["messages"]

    assert [message["role"] for message in messages] == [
        *("user", "assistant", "tool", "tool", "user")
    ]
    turn = messages[1]
    assert turn["content"] == [{"type": "text", "text": "Wait."}]
    assert turn["reasoning"] == "So"
    assert [call["id"] for call in turn["tool_calls"]] == ["call_1", "call_2"]
    assert messages[2] == {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
    assert messages[3]["content"] == [{"type": "text", "text": "sun"}]


def test_what_tools_of_openai_did_is_told_in_words(caller: Caller) -> None:
    given = [
        {"role": "user", "content": "Look it up."},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "rain"},
        },
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["a"]},
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "c",
            "code": "1 + 1",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "s",
            "name": "ask",
            "arguments": "{}",
            "output": "sun",
        },
    ]

    messages = sent(caller, given)["messages"]

    assert [message["content"] for message in messages[1:-1]] == [
        '[web_search: {"type":"search","query":"rain"}]',
        '[file_search: ["a"]]',
        '[code_interpreter: 1 + 1]\n[Result of code_interpreter: [{"type":"logs","logs":"2"}]]',
        "[ask: {}]\n[Result of ask: sun]",
    ]
    assert {message["role"] for message in messages[1:-1]} == {"assistant"}


def test_pictures_that_tools_return_follow_their_results(caller: Caller) -> None:
    picture = {"type": "input_image", "image_url": PNG}
    given = [
        {"role": "user", "content": "Look."},
        CALL,
        CALL | {"call_id": "call_2"},
        {"type": "function_call_output", "call_id": "call_1", "output": [picture]},
        {"type": "function_call_output", "call_id": "call_2", "output": "done"},
    ]

    messages = sent(caller, given, tools=[LOOK_UP])["messages"]

    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", "user"]
    shown = messages[4]["content"]
    assert [part["type"] for part in shown] == ["text", "image_url"]
    assert shown[1]["image_url"]["url"] == PNG
    assert "call_1" in shown[0]["text"]


def test_parameters(caller: Caller) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}

    body = sent(
        caller,
        "hello",
        max_output_tokens=99,
        temperature=0.5,
        top_p=0.25,
        reasoning={"effort": "high", "summary": "auto"},
        text={"format": form, "verbosity": "low"},
        metadata={"run": "7"},
        store=False,
        truncation="disabled",
        include=["reasoning.encrypted_content"],
        stream_options={"include_obfuscation": False},
        seed=7,
    )

    del body["messages"]
    assert body == {
        "model": "fake-model",
        "max_completion_tokens": 99,
        "temperature": 0.5,
        "top_p": 0.25,
        "reasoning_effort": "high",
        "verbosity": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True},
        },
        "seed": 7,
    }


def test_tools_and_the_choice_of_them(caller: Caller) -> None:
    other = LOOK_UP | {"name": "other"}
    tools = [LOOK_UP, other]

    named = sent(caller, "hello", tools=tools, tool_choice={"type": "function", "name": "other"})
    none = sent(caller, "hello", tools=tools, tool_choice="none")
    allowed = sent(
        caller,
        "hello",
        tools=tools,
        tool_choice={
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "other"}],
        },
    )

    function = {name: value for name, value in LOOK_UP.items() if name != "type"}
    assert named["tools"][0] == {"type": "function", "function": function}
    assert named["tool_choice"] == {"type": "function", "function": {"name": "other"}}
    assert none["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in allowed["tools"]] == ["other"]
    assert allowed["tool_choice"] == "required"


def test_custom_tools(caller: Caller) -> None:
    grammar = {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}
    tool = {"type": "custom", "name": "patch", "description": "Patch.", "format": grammar}
    given = [
        {"role": "user", "content": "Patch it."},
        {"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "abc"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"},
    ]

    body = sent(caller, given, tools=[tool])

    assert body["tools"] == [
        {
            "type": "custom",
            "custom": {
                "name": "patch",
                "description": "Patch.",
                "format": {
                    "type": "grammar",
                    "grammar": {"syntax": "regex", "definition": "[a-z]+"},
                },
            },
        }
    ]
    assert body["messages"][1]["tool_calls"] == [
        {"id": "call_1", "type": "custom", "custom": {"name": "patch", "input": "abc"}}
    ]
    assert body["messages"][2]["content"] == "done"


def test_a_document(caller: Caller) -> None:
    text = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}

    body = sent(caller, [{"role": "user", "content": [text]}])

    part = body["messages"][0]["content"][0]
    assert part["type"] == "file"
    assert part["file"] == {"filename": "a.txt", "file_data": text["file_data"]}


def test_what_has_to_come_back_comes_back(caller: Caller) -> None:
    """A provider's own reasoning, whatever it is, in the form in which all formats have it."""
    given = [
        {"role": "user", "content": "hello"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="},
        {"role": "assistant", "content": "hi"},
    ]

    turn = sent(caller, given)["messages"][1]

    assert turn["reasoning_details"] == [
        {
            "type": "reasoning.encrypted",
            "data": "gAAAA==",
            "format": "openai-responses-v1",
            "id": "rs_1",
        }
    ]


def test_null_is_absent(caller: Caller) -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        (
            *("instructions", "max_output_tokens", "temperature", "top_p", "tools", "text"),
            *("tool_choice", "reasoning", "include", "metadata", "previous_response_id", "user"),
            *("background", "conversation", "prompt", "truncation", "stream", "store"),
        )
    )

    body = sent(caller, "hello", **nothing)

    assert {name for name, value in body.items() if value is not None} == {"model", "messages"}


def test_two_turns_of_a_conversation(caller: Caller) -> None:
    """Whatever a response says can be sent back as it is."""
    first = respond(caller, "script:tools=1&reasoning=2", tools=[LOOK_UP])
    given = [
        {"role": "user", "content": "Look it up."},
        *first.json["output"],
        {"type": "function_call_output", "call_id": "call_0", "output": "rain"},
        ECHO,
    ]

    second = respond(caller, given, tools=[LOOK_UP])

    messages = json.loads(json.loads(response_of(second).output_text)["body_text"])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1]["reasoning"]


def test_what_only_openais_tools_have_is_named(caller: Caller) -> None:
    asked = ["reasoning.encrypted_content", "web_search_call.action.sources"]

    assert respond(caller, include=asked[:1]).headers.get("x-dropped-params") is None
    assert respond(caller, include=asked).headers["x-dropped-params"] == "include"
    needed = respond(caller, include=asked, headers={"x-require-parameters": "true"})
    assert (needed.status, needed.error["param"]) == (400, "include")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_signed_reasoning_comes_back_as_it_was(caller: Caller, stream: bool) -> None:
    first = respond(caller, "script:tools=1&reasoning=3&details", tools=[LOOK_UP], stream=stream)
    output = response_of(first).model_dump(exclude_unset=True)["output"]
    given = [
        {"role": "user", "content": "Look it up."},
        *output,
        {"type": "function_call_output", "call_id": "call_0", "output": "rain"},
        ECHO,
    ]

    second = respond(caller, given, tools=[LOOK_UP])

    thought = output[0]
    turn = json.loads(json.loads(response_of(second).output_text)["body_text"])["messages"][1]
    assert thought["encrypted_content"].startswith("reasoning_details.")
    [entry] = turn["reasoning_details"]
    assert entry["text"] == thought["summary"][0]["text"]
    assert entry["signature"]
    assert turn["reasoning"] == entry["text"]


def test_a_request_of_codex(caller: Caller) -> None:
    """Its shape, as Codex 0.169 sends it: tools in a namespace, a search that may not reach the
    web, and members of its own."""
    spawn = {name: value for name, value in LOOK_UP.items() if name != "name"} | {"name": "spawn"}
    members = {
        "instructions": "You are a coding agent.",
        "tools": [
            LOOK_UP | {"strict": False},
            {"type": "namespace", "name": "agents", "description": "Agents.", "tools": [spawn]},
            {"type": "web_search", "external_web_access": False},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a209ea-2a84-75b3-a057-4e1392fc5db0",
        "client_metadata": {"session_id": "01a209ea"},
    }
    given = [
        {
            "type": "message",
            "id": "msg_01a209ea",
            "role": "developer",
            "content": [{"type": "input_text", "text": "Be careful."}],
        },
        {
            "type": "function_call",
            "namespace": "agents",
            "name": "spawn",
            "arguments": "{}",
            "call_id": "call_9",
        },
        {"type": "function_call_output", "call_id": "call_9", "output": "done"},
    ]

    answer = respond(caller, [*given, ECHO], **members)

    body = json.loads(json.loads(response_of(answer).output_text)["body_text"])
    assert answer.headers["x-dropped-params"] == "web_search"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look_up", "agents__spawn"]
    assert body["messages"][2]["tool_calls"][0]["function"]["name"] == "agents__spawn"
    assert "client_metadata" not in body


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_call_of_a_tool_in_a_namespace(caller: Caller, stream: bool) -> None:
    tools = [{"type": "namespace", "name": "agents", "description": "", "tools": [LOOK_UP]}]

    answer = respond(caller, "script:tools=1", tools=tools, stream=stream)

    [call] = response_of(answer).model_dump()["output"]
    assert (call["namespace"], call["name"]) == ("agents", "look_up")
