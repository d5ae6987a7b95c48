"""What else a call asks for, by what the generation of the model takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.anthropic.conftest import ADAPTIVE, BUDGETED, NATIVE, OLD
from tests.flows.asking import CALL, LOOK_UP, dropped, sent
from tests.flows.caller import Caller
from tests.flows.site import Site


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize("model", [BUDGETED, ADAPTIVE, OLD])
def test_a_plain_call_has_what_the_api_needs(claude: Caller, model: str) -> None:
    body = sent(claude.with_(model=model))

    assert body == {
        "model": NATIVE[model],
        "max_tokens": 4096 if model == OLD else 16_384,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "script:echo"}]}],
    }


def test_the_callers_limit_goes_in_either_spelling(claude: Caller) -> None:
    assert sent(claude, max_tokens=77)["max_tokens"] == 77
    assert sent(claude, max_completion_tokens=78, max_tokens=99)["max_tokens"] == 78
    assert sent(claude, max_tokens=10**6)["max_tokens"] == 16_384


def test_a_limit_is_lowered_to_what_the_balance_covers(claude_site: Site) -> None:
    caller = claude_site.caller(credit_nusd=1_000_000).with_(model=BUDGETED)

    assert 1 < sent(caller)["max_tokens"] < 500


def test_what_has_a_word_of_the_apis_is_said(claude: Caller) -> None:
    body = sent(claude, temperature=0.5, top_k=7, stop=["END", "FIN"], user="u-1")

    assert (body["temperature"], body["top_k"]) == (0.5, 7)
    assert body["stop_sequences"] == ["END", "FIN"]
    assert body["metadata"] == {"user_id": "u-1"}


@pytest.mark.parametrize(
    ("model", "asked", "said", "lost"),
    [
        (BUDGETED, {"temperature": 1.5}, {"temperature": 1}, {"temperature"}),
        (BUDGETED, {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5}, {"top_p"}),
        (BUDGETED, {"top_p": 0.5}, {"top_p": 0.5}, set()),
        (OLD, {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5, "top_p": 0.5}, set()),
        (ADAPTIVE, {"temperature": 1, "top_k": 3}, {}, {"temperature", "top_k"}),
        (BUDGETED, {"stop": ["\n", "END"]}, {"stop_sequences": ["END"]}, {"stop"}),
        (BUDGETED, {"seed": 7, "presence_penalty": 1}, {}, {"seed", "presence_penalty"}),
        (BUDGETED, {"logprobs": True, "top_logprobs": 2}, {}, {"logprobs", "top_logprobs"}),
        (BUDGETED, {"metadata": {"a": "b"}, "store": True}, {}, {"metadata", "store"}),
        (BUDGETED, {"response_format": {"type": "json_object"}}, {}, {"response_format"}),
        (BUDGETED, {"response_format": {"type": "text"}}, {}, set()),
        (BUDGETED, {"something": 1}, {}, {"something"}),
        (BUDGETED, {"temperature": None, "seed": None}, {}, set()),
    ],
)
def test_what_is_lost_is_named(
    claude: Caller, model: str, asked: dict[str, Any], said: dict[str, Any], lost: set[str]
) -> None:
    caller = claude.with_(model=model)

    body = sent(caller, **asked)

    assert {name: body[name] for name in said} == said
    assert body.keys() - said.keys() == {"model", "max_tokens", "messages"}
    assert dropped(caller.ask(**asked)) == lost


def test_a_caller_may_insist_on_every_parameter(claude: Caller) -> None:
    answer = claude.ask(seed=7, headers={"x-require-parameters": "true"})

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
    assert answer.error["param"] == "seed"


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"n": 2}, "n"),
        ({"functions": [{"name": "a"}]}, "functions"),
        ({"guided_regex": "a+"}, "guided_regex"),
        ({"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0]"),
    ],
)
def test_what_would_change_the_answer_is_refused(
    claude: Caller, asked: dict[str, Any], param: str
) -> None:
    answer = claude.ask(**asked)

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["code"] == "unsupported_parameter"


def test_tools_are_offered_in_the_apis_words(claude: Caller) -> None:
    bare = named("bare")

    body = sent(claude, tools=[LOOK_UP, bare])

    assert body["tools"] == [
        {
            "name": "look_up",
            "description": "Look something up.",
            "input_schema": LOOK_UP["function"]["parameters"],
        },
        {"name": "bare", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert "tool_choice" not in body


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tool_choice": "auto"}, None),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "any"}, {"type": "any"}),
        ({"tool_choice": named("look_up")}, {"type": "tool", "name": "look_up"}),
        (
            {"parallel_tool_calls": False},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
        ({"parallel_tool_calls": True}, None),
    ],
)
def test_the_choice_among_tools_is_said(
    claude: Caller, asked: dict[str, Any], said: dict[str, Any] | None
) -> None:
    assert sent(claude, tools=[LOOK_UP], **asked).get("tool_choice") == said


def test_a_choice_among_some_tools_offers_those_alone(claude: Caller) -> None:
    allowed = {"mode": "required", "tools": [named("bare")]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}

    body = sent(claude, tools=[LOOK_UP, named("bare")], tool_choice=choice)

    assert [tool["name"] for tool in body["tools"]] == ["bare"]
    assert body["tool_choice"] == {"type": "any"}


def test_strict_tools_are_for_models_that_know_them(claude: Caller) -> None:
    function = LOOK_UP["function"] | {"strict": True}
    tools = [{"type": "function", "function": function}]

    assert sent(claude, tools=tools)["tools"][0]["strict"] is True
    assert "strict" not in sent(claude.with_(model=OLD), tools=tools)["tools"][0]
    assert dropped(claude.with_(model=OLD).ask(tools=tools)) == {"strict"}


def test_a_schema_is_kept_to(claude: Caller) -> None:
    opened = {"type": "object", "properties": {"a": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": opened}}
    prompt = {"role": "user", "content": "Hello"}

    answer = claude.ask(messages=[prompt], response_format=wanted)

    assert answer.text == '{"a":"tok0"}'
    refused = claude.with_(model=OLD).ask(messages=[prompt], response_format=wanted)
    assert (refused.status, refused.error["param"]) == (400, "response_format")


@pytest.mark.parametrize(
    ("effort", "budget"),
    [("minimal", 1024), ("low", 1024), ("medium", 2048), ("high", 3276), ("xhigh", 3891)],
)
def test_effort_is_a_budget_for_models_that_have_one(
    claude: Caller, effort: str, budget: int
) -> None:
    body = sent(claude, reasoning_effort=effort, max_tokens=4096, temperature=0.5, top_k=3)

    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert "temperature" not in body
    assert "top_k" not in body


@pytest.mark.parametrize(
    ("effort", "said"), [("none", "low"), ("minimal", "low"), ("medium", "medium"), ("max", "max")]
)
def test_effort_is_a_word_for_models_that_think_as_they_see_fit(
    claude: Caller, effort: str, said: str
) -> None:
    caller = claude.with_(model=ADAPTIVE)

    body = sent(caller, reasoning_effort=effort)

    assert body["output_config"] == {"effort": said}
    shown = {"type": "adaptive", "display": "summarized"}
    assert body.get("thinking") == (None if effort == "none" else shown)


def test_a_model_that_cannot_think_is_not_asked_to(claude: Caller) -> None:
    loop: list[dict[str, Any]] = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sun"},
    ]

    old = claude.with_(model=OLD)
    assert "thinking" not in sent(old, reasoning_effort="high")
    assert dropped(old.ask(reasoning_effort="high")) == {"reasoning_effort"}
    assert "thinking" not in sent(claude, reasoning_effort="none")
    assert "thinking" not in sent(claude, reasoning_effort="high", max_tokens=1024)
    forced = {"tools": [LOOK_UP], "tool_choice": "required"}
    assert "thinking" not in sent(claude, reasoning_effort="high", **forced)
    assert "thinking" not in sent(claude.with_(model=ADAPTIVE), reasoning_effort="high", **forced)
    assert "thinking" not in sent(claude, *loop, tools=[LOOK_UP], reasoning_effort="high")


def test_the_apis_own_word_for_thinking_goes_through(claude: Caller) -> None:
    thinking = {"type": "enabled", "budget_tokens": 2000}

    body = sent(claude, thinking=thinking, reasoning_effort="low", temperature=0)

    assert body["thinking"] == thinking
    assert "temperature" not in body


def test_a_models_own_defaults_are_said(claude_site: Site, claude: Caller) -> None:
    fields = {"native_model": NATIVE[BUDGETED], "default_params": {"temperature": 0.25}}
    name = claude_site.add_model("claude-cool", provider="claude", **fields)

    cool = claude.with_(model=name)

    assert sent(cool)["temperature"] == 0.25
    assert sent(cool, temperature=1)["temperature"] == 1
