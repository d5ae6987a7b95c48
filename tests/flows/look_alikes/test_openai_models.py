"""OpenAI's models that reason get none of the parameters that they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.look_alikes.conftest import LookAlikes
from tests.flows.look_alikes.test_fields import EVERYTHING, dropped, sent

NOT_OPENAIS = {"top_k", "min_p", "repetition_penalty", "ignore_eos"}
SAMPLING = {"temperature", "top_p", "logprobs", "top_logprobs"}
PENALTIES = {"frequency_penalty", "presence_penalty"}
REASONING = SAMPLING | PENALTIES | {"logit_bias"}


@pytest.mark.parametrize(
    ("model", "effort", "lost"),
    [
        ("gpt-4o", "low", {"reasoning_effort", "verbosity"}),
        ("gpt-4.1-mini", "low", {"reasoning_effort", "verbosity"}),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", "low", {"reasoning_effort", "verbosity"}),
        ("gpt-5-chat-latest", "low", {"reasoning_effort", "verbosity"}),
        ("o1", "low", REASONING | {"verbosity"}),
        ("o3-mini-2025-01-31", "low", REASONING | {"verbosity", "stop"}),
        ("o4-mini", "low", REASONING | {"verbosity", "stop"}),
        ("gpt-5", "low", REASONING | {"stop"}),
        ("gpt-5-nano-2025-08-07", "low", REASONING | {"stop"}),
        ("gpt-5.1", "low", REASONING | {"stop"}),
        ("gpt-5.2", "none", REASONING - SAMPLING | {"stop"}),
        ("gpt-5.1-chat-latest", "none", REASONING | {"stop"}),
        ("gpt-6", "low", REASONING | {"stop"}),
        ("brand-new", "low", set()),
    ],
)
def test_what_a_model_refuses_is_left_out_and_named(
    look_alikes: LookAlikes, model: str, effort: str, lost: set[str]
) -> None:
    caller = look_alikes.caller("openai", model)

    answer = caller.ask("script:echo", **EVERYTHING | {"reasoning_effort": effort})

    body = sent(answer)
    assert dropped(answer) == lost | NOT_OPENAIS
    assert body["max_completion_tokens"] == 50
    kept = EVERYTHING.keys() - lost - NOT_OPENAIS - {"max_tokens", "reasoning_effort"}
    assert {name: body[name] for name in kept} == {name: EVERYTHING[name] for name in kept}


@pytest.mark.parametrize(
    ("model", "lost", "effort"),
    [
        ("grok-3", {"reasoning_effort"}, None),
        ("grok-3-mini", {*PENALTIES, "stop"}, "low"),
        ("grok-4-fast-non-reasoning", {*PENALTIES, "reasoning_effort"}, None),
        ("grok-4.20-0309-reasoning", {*PENALTIES, "reasoning_effort", "stop"}, None),
        ("grok-4.3", {*PENALTIES, "stop"}, "medium"),
    ],
)
def test_what_groks_refuse_is_left_out_and_named(
    look_alikes: LookAlikes, model: str, lost: set[str], effort: str | None
) -> None:
    caller = look_alikes.caller("xai", model)

    answer = caller.ask("script:echo", **EVERYTHING | {"reasoning_effort": "medium"})

    assert dropped(answer) == lost | NOT_OPENAIS
    assert not lost & sent(answer).keys()
    assert sent(answer).get("reasoning_effort") == effort


def test_a_model_that_reasons_only_when_asked_samples_otherwise(look_alikes: LookAlikes) -> None:
    caller = look_alikes.caller("openai", "gpt-5.2")

    assert sent(caller.ask("script:echo", temperature=0.5))["temperature"] == 0.5
    answer = caller.ask("script:echo", temperature=0.5, reasoning_effort="high")
    assert dropped(answer) == {"temperature"}


def test_what_is_the_default_anyway_is_not_lost(look_alikes: LookAlikes) -> None:
    same = {"temperature": 1, "top_p": 1.0, "presence_penalty": 0, "frequency_penalty": 0.0}

    answer = look_alikes.caller("openai", "o3").ask("script:echo", **same, logprobs=False)

    assert sent(answer).keys() == {"model", "messages"}
    assert dropped(answer) == set()


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("o3", "none", "low"),
        ("o3", "minimal", "low"),
        ("o3", "xhigh", "high"),
        ("gpt-5", "none", "minimal"),
        ("gpt-5", "max", "high"),
        ("gpt-5.2", "none", "none"),
        ("gpt-5.2", "minimal", "none"),
        ("gpt-5.2", "max", "xhigh"),
    ],
)
def test_an_effort_that_a_model_does_not_know_is_the_next_below(
    look_alikes: LookAlikes, model: str, asked: str, said: str
) -> None:
    caller = look_alikes.caller("openai", model)

    assert sent(caller.ask("script:echo", reasoning_effort=asked))["reasoning_effort"] == said


def test_a_caller_may_insist_on_every_parameter(look_alikes: LookAlikes) -> None:
    caller = look_alikes.caller("openai", "o3")

    answer = caller.ask(temperature=0.5, headers={"x-require-parameters": "true"})

    assert (answer.status, answer.error["param"]) == (400, "temperature")


def test_a_models_own_defaults_are_held_to_the_same(look_alikes: LookAlikes) -> None:
    site = look_alikes.site
    look_alikes.caller("openai")
    fields: dict[str, Any] = {"native_model": "o3", "default_params": {"temperature": 0.25}}
    name = site.add_model("o3-cool", provider="like-openai", **fields)

    answer = site.caller().with_(model=name).ask("script:echo")

    assert sent(answer).keys() == {"model", "messages"}


def test_other_providers_of_openais_models_know_them(look_alikes: LookAlikes) -> None:
    caller = look_alikes.caller("github_models", "openai/gpt-5-mini")

    assert dropped(caller.ask("script:echo", temperature=0.5)) == {"temperature"}
