"""What else a call asks for, by what the generation of the model takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.anthropic.test_options import named as function_named
from tests.flows.asking import LOOK_UP, dropped, sent
from tests.flows.caller import Caller
from tests.flows.gemini.asking import config
from tests.flows.gemini.conftest import FLASH, LITE, NATIVE, NEWEST, OLD, PRO
from tests.flows.site import Site

SCHEMA = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}
PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}


def test_the_callers_limit_goes_in_either_spelling(gemini: Caller) -> None:
    assert config(gemini) == {}
    assert config(gemini, max_tokens=77) == {"maxOutputTokens": 77}
    assert config(gemini, max_completion_tokens=78, max_tokens=99) == {"maxOutputTokens": 78}
    assert config(gemini, max_tokens=10**6) == {"maxOutputTokens": 16_384}


def test_a_limit_is_lowered_to_what_the_balance_covers(gemini_site: Site) -> None:
    caller = gemini_site.caller(credit_nusd=1_000_000).with_(model=FLASH)

    assert 1 < config(caller)["maxOutputTokens"] < 500


def test_what_has_a_word_of_the_apis_is_said(gemini: Caller) -> None:
    said = config(gemini, temperature=0.5, top_p=0.25, top_k=7, seed=11, stop=["END", "FIN"])

    assert said == {
        "temperature": 0.5,
        "topP": 0.25,
        "topK": 7,
        "seed": 11,
        "stopSequences": ["END", "FIN"],
    }


@pytest.mark.parametrize(
    ("model", "asked", "said", "lost"),
    [
        (OLD, {"presence_penalty": 1}, {"presencePenalty": 1.0}, set()),
        (FLASH, {"presence_penalty": 1, "frequency_penalty": 0}, {}, {"presence_penalty"}),
        (NEWEST, {"temperature": 1, "top_k": 3, "top_p": 1}, {}, {"temperature", "top_k", "top_p"}),
        (FLASH, {"seed": 2**40}, {}, {"seed"}),
        (FLASH, {"metadata": {"a": "b"}, "user": "u-1"}, {}, {"metadata", "user"}),
        (FLASH, {"logit_bias": {"7": 1}, "something": 1}, {}, {"logit_bias", "something"}),
        (FLASH, {"response_format": {"type": "text"}}, {}, set()),
        (FLASH, {"temperature": None, "seed": None, "stop": None}, {}, set()),
    ],
)
def test_what_is_lost_is_named(
    gemini: Caller, model: str, asked: dict[str, Any], said: dict[str, Any], lost: set[str]
) -> None:
    caller = gemini.with_(model=model)

    assert config(caller, **asked) == said
    assert dropped(caller.ask(**asked)) == lost


def test_a_caller_may_insist_on_every_parameter(gemini: Caller) -> None:
    answer = gemini.ask(user="u-1", headers={"x-require-parameters": "true"})

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
    assert answer.error["param"] == "user"


@pytest.mark.parametrize(
    ("model", "asked", "param"),
    [
        (NEWEST, {"n": 2}, "n"),
        (FLASH, {"n": 9}, "n"),
        (FLASH, {"functions": [{"name": "a"}]}, "functions"),
        (FLASH, {"guided_regex": "a+"}, "guided_regex"),
        (FLASH, {"structured_outputs": {"grammar": "a"}}, "structured_outputs.grammar"),
        (FLASH, {"chat_template_kwargs": {"x": 1}}, "chat_template_kwargs"),
        (FLASH, {"modalities": ["text", "audio"], "audio": {}}, "modalities"),
        (FLASH, {"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0]"),
    ],
)
def test_what_would_change_the_answer_is_refused(
    gemini: Caller, model: str, asked: dict[str, Any], param: str
) -> None:
    answer = gemini.with_(model=model).ask(**asked)

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["code"] == "unsupported_parameter"


@pytest.mark.parametrize(
    ("modalities", "param"), [(True, "modalities"), (["text", 1], "modalities[1]")]
)
def test_an_option_of_another_type_is_named(gemini: Caller, modalities: object, param: str) -> None:
    answer = gemini.ask(modalities=modalities)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == param
    assert answer.error["message"].startswith(f"{param}: Expected")


def test_tools_are_offered_with_their_own_schemas(gemini: Caller) -> None:
    body = sent(gemini, tools=[LOOK_UP, function_named("bare")])

    [tool] = body["tools"]
    assert tool["functionDeclarations"] == [
        {
            "name": "look_up",
            "description": "Look something up.",
            "parametersJsonSchema": LOOK_UP["function"]["parameters"],
        },
        {"name": "bare"},
    ]
    assert "toolConfig" not in body


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tool_choice": "auto"}, None),
        ({"tool_choice": "none"}, {"mode": "NONE"}),
        ({"tool_choice": "required"}, {"mode": "ANY"}),
        (
            {"tool_choice": function_named("look_up")},
            {"mode": "ANY", "allowedFunctionNames": ["look_up"]},
        ),
    ],
)
def test_the_choice_among_tools_is_said(
    gemini: Caller, asked: dict[str, Any], said: dict[str, Any] | None
) -> None:
    found = sent(gemini, tools=[LOOK_UP], **asked).get("toolConfig")

    assert found == (None if said is None else {"functionCallingConfig": said})


def test_a_choice_among_some_tools_offers_those_alone(gemini: Caller) -> None:
    allowed = {"mode": "required", "tools": [function_named("bare")]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}

    body = sent(gemini, tools=[LOOK_UP, function_named("bare")], tool_choice=choice)

    assert body["tools"] == [{"functionDeclarations": [{"name": "bare"}]}]
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}


def test_calls_keep_to_the_schemas_of_strict_tools(gemini: Caller) -> None:
    strict = {"type": "function", "function": LOOK_UP["function"] | {"strict": True}}

    body = sent(gemini, tools=[strict])

    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_calls_one_at_a_time_cannot_be_asked_for(gemini: Caller) -> None:
    asked: dict[str, Any] = {"tools": [LOOK_UP], "parallel_tool_calls": False}

    assert dropped(gemini.ask(**asked)) == {"parallel_tool_calls"}
    assert dropped(gemini.ask(**asked, tool_choice="none")) == set()


def test_the_form_of_an_answer_is_said(gemini: Caller) -> None:
    assert config(gemini, response_format={"type": "json_object"}) == {
        "responseMimeType": "application/json"
    }
    assert config(gemini, response_format=FORM) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }


def test_pictures_can_be_asked_for(gemini: Caller) -> None:
    said = config(gemini, modalities=["text", "image"])

    assert said == {"responseModalities": ["TEXT", "IMAGE"]}


@pytest.mark.parametrize(
    ("model", "effort", "budget"),
    [
        (FLASH, "minimal", 1024),
        (FLASH, "medium", 8192),
        (FLASH, "xhigh", 24_576),
        (FLASH, "none", 0),
        (PRO, "high", 24_576),
        (PRO, "max", 32_768),
        (PRO, "none", 128),
    ],
)
def test_effort_is_a_budget_for_the_models_that_have_one(
    gemini: Caller, model: str, effort: str, budget: int
) -> None:
    caller = gemini.with_(model=model)

    said = config(caller, reasoning_effort=effort)

    shown = {} if effort == "none" else {"includeThoughts": True}
    assert said == {"thinkingConfig": {"thinkingBudget": budget} | shown}
    lost = {"reasoning_effort"} if (model, effort) == (PRO, "none") else set()
    assert dropped(caller.ask(reasoning_effort=effort)) == lost


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        (FLASH, {"max_tokens": 2000}, {"thinkingBudget": 2000, "includeThoughts": True}),
        (PRO, {"max_tokens": 1, "exclude": True}, {"thinkingBudget": 128}),
        (FLASH, {"enabled": False}, {"thinkingBudget": 0}),
        (NEWEST, {"max_tokens": 9000}, {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        (NEWEST, {"effort": "high"}, {"thinkingLevel": "HIGH", "includeThoughts": True}),
    ],
)
def test_openrouters_word_for_it_is_understood(
    gemini: Caller, model: str, asked: dict[str, Any], said: dict[str, Any]
) -> None:
    found = config(gemini.with_(model=model), reasoning=asked)

    assert found == {"thinkingConfig": said}


@pytest.mark.parametrize(
    ("asked", "said", "lost"),
    [
        ({"guided_json": PLAIN}, {"responseJsonSchema": PLAIN}, set()),
        ({"guided_json": json.dumps(PLAIN)}, {"responseJsonSchema": PLAIN}, set()),
        ({"structured_outputs": {"json": PLAIN}}, {"responseJsonSchema": PLAIN}, set()),
        (
            {"guided_choice": ["yes", "no"], "guided_decoding_backend": "xgrammar"},
            {"responseSchema": {"type": "STRING", "enum": ["yes", "no"]}},
            {"guided_decoding_backend"},
        ),
        (
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"thinkingConfig": {"thinkingBudget": 0}},
            set(),
        ),
    ],
)
def test_a_constraint_is_kept_or_refused(
    gemini: Caller, asked: dict[str, Any], said: dict[str, Any], lost: set[str]
) -> None:
    found = config(gemini, **asked)
    kind = found.pop("responseMimeType", None)

    assert found == said
    assert dropped(gemini.ask(**asked)) == lost
    kinds = {"responseJsonSchema": "application/json", "responseSchema": "text/x.enum"}
    assert kind == kinds.get(next(iter(said)))


@pytest.mark.parametrize(
    ("model", "effort", "level"),
    [
        (NEWEST, "none", "LOW"),
        (NEWEST, "minimal", "LOW"),
        (NEWEST, "medium", "MEDIUM"),
        (NEWEST, "xhigh", "HIGH"),
        (LITE, "none", "MINIMAL"),
        (LITE, "minimal", "MINIMAL"),
    ],
)
def test_effort_is_a_level_for_newer_models(
    gemini: Caller, model: str, effort: str, level: str
) -> None:
    caller = gemini.with_(model=model)

    said = config(caller, reasoning_effort=effort)["thinkingConfig"]

    assert said["thinkingLevel"] == level
    assert said.get("includeThoughts", False) == (effort != "none")
    lost = {"reasoning_effort"} if effort == "none" else set()
    assert dropped(caller.ask(reasoning_effort=effort)) == lost


def test_a_model_that_cannot_think_is_not_asked_to(gemini: Caller) -> None:
    old = gemini.with_(model=OLD)

    assert config(old, reasoning_effort="high") == {}
    assert dropped(old.ask(reasoning_effort="high")) == {"reasoning_effort"}
    assert dropped(old.ask(reasoning_effort="none")) == set()


def test_the_apis_own_words_go_through(gemini: Caller) -> None:
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    thinking = {"thinkingBudget": 2000}

    for names in (
        ("safety_settings", "cached_content", "thinking_config"),
        ("safetySettings", "cachedContent", "thinkingConfig"),
    ):
        values = (safety, "cachedContents/abc", thinking)
        body = sent(gemini, reasoning_effort="low", **dict(zip(names, values, strict=True)))

        assert body["safetySettings"] == safety
        assert body["cachedContent"] == "cachedContents/abc"
        assert body["generationConfig"] == {"thinkingConfig": thinking}


def test_a_models_own_defaults_are_said(gemini_site: Site, gemini: Caller) -> None:
    fields = {"native_model": NATIVE[FLASH], "default_params": {"temperature": 0.25}}
    cool = gemini.with_(model=gemini_site.add_model("gemini-cool", provider="gemini", **fields))

    assert config(cool)["temperature"] == 0.25
    assert config(cool, temperature=1)["temperature"] == 1
