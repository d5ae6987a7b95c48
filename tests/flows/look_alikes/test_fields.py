"""Whatever a caller sends reaches a look-alike in its words, or is named, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.providers import catalogue
from tests.flows.caller import Answer, Caller
from tests.flows.look_alikes.conftest import KINDS, LookAlikes
from tests.flows.site import Site

EVERYTHING: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 3,
    "min_p": 0.1,
    "repetition_penalty": 1.1,
    "ignore_eos": False,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "seed": 7,
    "stop": ["END"],
    "logprobs": True,
    "top_logprobs": 2,
    "logit_bias": {"7": 1},
    "user": "ann",
    "metadata": {"a": "b"},
    "store": True,
    "service_tier": "auto",
    "verbosity": "low",
    "reasoning_effort": "low",
    "max_tokens": 50,
}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}},
}
OTHER = {"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}
ECHO = {"role": "user", "content": "script:echo"}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "a", "schema": {"type": "object", "properties": {}}},
}
NAMED = {"type": "function", "function": {"name": "look_up"}}


def dropped(answer: Answer) -> set[str]:
    return set(filter(None, answer.headers.get("x-dropped-params", "").split(",")))


def sent(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body


def kind_of(name: str) -> catalogue.ProviderKind:
    return catalogue.BY_NAME[name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_arrives_or_is_named(look_alikes: LookAlikes, kind: str) -> None:
    caller = look_alikes.caller(kind)

    answer = caller.ask("script:echo", **EVERYTHING)

    body, lost = sent(answer), dropped(answer)
    other_names = dict(kind_of(kind).renames) | {"max_tokens": kind_of(kind).limit_field}
    for name, value in EVERYTHING.items():
        theirs = other_names.get(name, name)
        there = body.get(name, body.get(theirs))
        assert (name in lost) != (there == value), name
    refused = caller.ask(**EVERYTHING, headers={"x-require-parameters": "true"})
    assert refused.status == (400 if lost else 200)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_are_taken_from_everyone(look_alikes: LookAlikes, kind: str) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Well?", "name": "ann"},
        {"role": "assistant", "content": "Yes.", "reasoning": "Hm."},
        ECHO,
    ]

    answer = look_alikes.caller(kind).ask(messages=messages)

    first, second, third, _ = sent(answer)["messages"]
    facts, lost = kind_of(kind), dropped(answer)
    assert first["role"] == ("developer" if facts.takes_developer else "system")
    assert ("name" in second) == facts.takes_names == ("name" not in lost)
    is_lost = facts.reasoning_field == "" and not facts.thinks_in_content
    assert ("reasoning" in lost) == is_lost
    assert (facts.reasoning_field in third) == bool(facts.reasoning_field)
    assert third["content"] == ("<think>Hm.</think>Yes." if facts.thinks_in_content else "Yes.")


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_an_empty_list_beside_calls_of_tools_is_no_content(
    site: Site, look_alikes: LookAlikes, kind: str | None
) -> None:
    """As LangChain.js and Pydantic AI's model for Mistral send it, and OpenAI refuses it."""
    function = {"name": "look_up", "arguments": '{"n": 1.50}'}
    calls = [{"id": "a1B2c3D4e", "type": "function", "function": function}]
    asked = [
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": [], "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a1B2c3D4e", "content": "Rain"},
    ]
    caller = site.caller() if kind is None else look_alikes.caller(kind)

    answer = caller.ask(messages=[*asked, {"role": "assistant", "content": "Rain."}, ECHO])

    given = sent(answer)["messages"][1]
    assert given.get("content") in (None, "")
    assert given["tool_calls"] == calls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED], ids=str)
def test_a_choice_among_tools_is_kept_or_refused(
    look_alikes: LookAlikes, kind: str, choice: Any
) -> None:
    answer = look_alikes.caller(kind).ask("script:echo", tools=[TOOL], tool_choice=choice)

    facts, word = kind_of(kind), choice if isinstance(choice, str) else "function"
    takes_tools = not facts.takes or "tools" in facts.takes
    if not takes_tools or (word in ("required", "function") and word not in facts.tool_choices):
        assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
        assert answer.error["param"] == ("tool_choice" if takes_tools else "tools")
        return
    body = sent(answer)
    if word in facts.tool_choices:
        assert (body["tools"], body["tool_choice"]) == ([TOOL], choice)
    else:
        assert body.keys().isdisjoint({"tools", "tool_choice"})


@pytest.mark.parametrize("kind", ["openai", "groq", "zai"])
def test_a_choice_among_some_tools_is_kept(look_alikes: LookAlikes, kind: str) -> None:
    allowed = {"mode": "auto", "tools": [NAMED]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}

    answer = look_alikes.caller(kind).ask("script:echo", tools=[TOOL, OTHER], tool_choice=choice)

    body = sent(answer)
    if kind == "openai":
        assert (body["tools"], body["tool_choice"]) == ([TOOL, OTHER], choice)
    else:
        assert (body["tools"], body["tool_choice"]) == ([TOOL], "auto")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [{"type": "json_object"}, SCHEMA], ids=lambda f: str(f["type"]))
def test_a_form_of_the_answer_is_kept_or_refused(
    look_alikes: LookAlikes, kind: str, wanted: dict[str, Any]
) -> None:
    answer = look_alikes.caller(kind).ask("script:echo", response_format=wanted)

    formats = kind_of(kind).response_formats
    if kind_of(kind).takes and "response_format" not in kind_of(kind).takes:
        assert dropped(answer) == {"response_format"} or answer.status == 400
    elif wanted["type"] in formats:
        assert sent(answer)["response_format"] == wanted
    elif wanted["type"] == "json_schema":
        assert (answer.status, answer.error["param"]) == (400, "response_format")
    else:
        assert sent(answer)["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("kind", "asked", "said", "lost"),
    [
        ("zai", "none", {"thinking": {"type": "disabled"}}, set()),
        ("zai", "high", {"thinking": {"type": "enabled"}}, {"reasoning_effort"}),
        ("dashscope", "none", {"enable_thinking": False}, set()),
        ("dashscope", "low", {"enable_thinking": True}, {"reasoning_effort"}),
        ("groq", "low", {"reasoning_effort": "low"}, set()),
    ],
)
def test_effort_is_a_switch_where_there_is_no_more(
    look_alikes: LookAlikes, kind: str, asked: str, said: dict[str, Any], lost: set[str]
) -> None:
    answer = look_alikes.caller(kind).ask("script:echo", reasoning_effort=asked)

    body = sent(answer)
    assert {name: body[name] for name in said} == said
    assert "reasoning_effort" not in body or "reasoning_effort" in said
    assert dropped(answer) == lost


def one_call_of_functions(caller: Caller) -> Answer:
    return caller.ask(functions=[{"name": "look_up"}])


@pytest.mark.parametrize("kind", ["cerebras", "zai", "minimax"])
def test_functions_are_not_dropped_in_silence(look_alikes: LookAlikes, kind: str) -> None:
    answer = one_call_of_functions(look_alikes.caller(kind))

    assert (answer.status, answer.error["param"]) == (400, "functions")


@pytest.mark.parametrize("kind", ["mistral", "cerebras", "zai", "moonshot"])
def test_custom_tools_are_refused_where_there_are_none(look_alikes: LookAlikes, kind: str) -> None:
    custom = {"type": "custom", "custom": {"name": "look_up"}}

    answer = look_alikes.caller(kind).ask(tools=[TOOL, custom])

    assert (answer.status, answer.error["param"]) == (400, "tools[1]")
    assert answer.error["message"] == "This model does not support custom tools."
