"""What a chat completion asks for, in Cohere's words."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.cohere.conftest import PLAIN, REASONING, sent
from tests.flows.look_alikes.test_fields import NAMED, OTHER, SCHEMA, TOOL, dropped

ECHO = {"role": "user", "content": "script:echo"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"a":1}'}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "sun"}
PICTURE = (
    "data:image/png;base64,"
    + base64.b64encode(
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
    ).decode()
)


def text_file(text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {
        "type": "file",
        "file": {"file_data": f"data:text/plain;base64,{data}", "filename": "notes.txt"},
    }


def test_a_plain_call_has_what_the_api_needs(cohere: Caller) -> None:
    assert sent(cohere.ask("script:echo")) == {"model": PLAIN, "messages": [ECHO]}


@pytest.mark.parametrize(
    ("asked", "said", "lost"),
    [
        ({"temperature": 0.5, "seed": 7}, {"temperature": 0.5, "seed": 7}, set()),
        ({"top_p": 0.5, "top_k": 7}, {"p": 0.5, "k": 7}, set()),
        ({"top_p": 1}, {"p": 0.99}, set()),
        ({"top_p": 0}, {"p": 0.01}, {"top_p"}),
        ({"top_k": 900}, {"k": 500}, {"top_k"}),
        ({"seed": -7}, {"seed": 0}, {"seed"}),
        ({"frequency_penalty": 0.5}, {"frequency_penalty": 0.5}, set()),
        ({"presence_penalty": -1}, {"presence_penalty": 0}, {"presence_penalty"}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}, set()),
        ({"max_completion_tokens": 9}, {"max_tokens": 9}, set()),
        ({"logprobs": True, "top_logprobs": 2}, {"logprobs": True}, {"top_logprobs"}),
        ({"user": "ann", "logit_bias": {"7": 1}}, {}, {"user", "logit_bias"}),
        ({"reasoning_effort": "low"}, {}, {"reasoning_effort"}),
        ({"reasoning_effort": "none"}, {}, set()),
        ({"response_format": {"type": "text"}}, {}, set()),
        ({"safety_mode": "STRICT"}, {"safety_mode": "STRICT"}, set()),
    ],
)
def test_each_option_is_said_or_named(
    cohere: Caller, asked: dict[str, Any], said: dict[str, Any], lost: set[str]
) -> None:
    answer = cohere.ask("script:echo", **asked)

    body = sent(answer)
    assert {
        name: value for name, value in body.items() if name not in ("model", "messages")
    } == said
    assert dropped(answer) == lost


@pytest.mark.parametrize(
    ("effort", "thinking"),
    [
        ("none", {"type": "disabled"}),
        ("low", {"type": "enabled", "token_budget": 2048}),
        ("high", {"type": "enabled"}),
    ],
)
def test_a_model_that_reasons_is_told_how_much(
    cohere: Caller, effort: str, thinking: dict[str, Any]
) -> None:
    answer = cohere.with_(model=REASONING).ask("script:echo", reasoning_effort=effort)

    assert sent(answer)["thinking"] == thinking


@pytest.mark.parametrize(
    ("choice", "names", "said"),
    [
        ("auto", ["look_up", "other"], None),
        ("none", ["look_up", "other"], "NONE"),
        ("required", ["look_up", "other"], "REQUIRED"),
        (NAMED, ["look_up"], "REQUIRED"),
    ],
    ids=["auto", "none", "required", "named"],
)
def test_the_choice_among_tools_is_said(
    cohere: Caller, choice: Any, names: list[str], said: str | None
) -> None:
    body = sent(cohere.ask("script:echo", tools=[TOOL, OTHER], tool_choice=choice))

    assert [tool["function"]["name"] for tool in body["tools"]] == names
    assert body.get("tool_choice") == said


def test_one_call_at_a_time_cannot_be_asked_for(cohere: Caller) -> None:
    answer = cohere.ask("script:echo", tools=[TOOL], parallel_tool_calls=False)

    assert dropped(answer) == {"parallel_tool_calls"}


def test_strict_tools_are_all_strict(cohere: Caller) -> None:
    strict = {"type": "function", "function": TOOL["function"] | {"strict": True}}

    assert sent(cohere.ask("script:echo", tools=[strict]))["strict_tools"] is True


@pytest.mark.parametrize("model", [PLAIN, REASONING])
def test_calls_and_results_go_back_with_what_was_planned(cohere: Caller, model: str) -> None:
    begun = {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "Look."}
    said = [{"role": "user", "content": "Well?"}, begun, RESULT, ECHO]

    assistant, result = sent(cohere.with_(model=model).ask(messages=said))["messages"][1:3]

    assert assistant["tool_calls"] == [CALL]
    if model == PLAIN:
        assert assistant["tool_plan"] == "Look."
    else:
        assert assistant["content"] == [{"type": "thinking", "thinking": "Look."}]
    assert result == RESULT


def test_instructions_of_developers_are_the_systems(cohere: Caller) -> None:
    brief = {"role": "developer", "content": "Be brief."}

    first = sent(cohere.ask(messages=[brief, ECHO]))["messages"][0]

    assert first == {"role": "system", "content": "Be brief."}


def test_a_text_file_is_a_document(cohere: Caller) -> None:
    parts = [text_file("It is 7."), {"type": "text", "text": "script:echo"}]

    body = sent(cohere.ask(messages=[{"role": "user", "content": parts}]))

    assert body["documents"] == [
        {"id": "doc_0", "data": {"title": "notes.txt", "text": "It is 7."}}
    ]
    assert body["messages"] == [ECHO]


def test_a_picture_is_shown(cohere: Caller, cohere_site: Any) -> None:
    cohere_site.add_model("sees", provider="cohere", native_model=PLAIN, supports_vision=True)
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    parts = [{"type": "text", "text": "script:echo"}, picture]

    body = sent(cohere.with_(model="sees").ask(messages=[{"role": "user", "content": parts}]))

    assert body["messages"][0]["content"][1] == picture


def test_a_schema_is_kept_to(cohere: Caller) -> None:
    described: Any = SCHEMA["json_schema"]

    told = sent(cohere.ask("script:echo", response_format=SCHEMA))["response_format"]

    assert told == {"type": "json_object", "json_schema": described["schema"]}


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"n": 2}, "n"),
        ({"guided_regex": "a+"}, "guided_regex"),
        ({"functions": [{"name": "a"}]}, "functions"),
        ({"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0]"),
    ],
)
def test_what_would_change_the_answer_is_refused(
    cohere: Caller, asked: dict[str, Any], param: str
) -> None:
    answer = cohere.ask(**asked)

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
    assert answer.error["param"] == param


def test_a_conversation_needs_a_question(cohere: Caller) -> None:
    answer = cohere.ask(messages=[{"role": "assistant", "content": "Yes."}])

    assert (answer.status, answer.error["param"]) == (400, "messages")
