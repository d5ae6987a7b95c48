"""vLLM's constraints on answers, at servers of other makes: kept in their words, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.look_alikes.conftest import LookAlikes
from tests.flows.look_alikes.test_fields import dropped, sent

OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = OPEN | {"required": ["a"], "additionalProperties": False}
GBNF = 'root ::= "yes" | "no \\"way\\""'
CHOICES = ["yes", 'no "way"']
TAG = {"structures": [], "triggers": ["<a>"]}


def schema(wanted: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    described = {"name": "response", "schema": wanted, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


@pytest.mark.parametrize(
    ("kind", "asked", "said"),
    [
        ("sglang", {"guided_json": OPEN}, schema(OPEN, strict=False)),
        ("sglang", {"guided_regex": "a+"}, {"regex": "a+"}),
        ("sglang", {"guided_grammar": GBNF}, {"ebnf": GBNF}),
        ("sglang", {"guided_choice": ["1+1", "no"]}, {"regex": r"(1\+1|no)"}),
        (
            "sglang",
            {"structural_tag": TAG},
            {"response_format": {"type": "structural_tag", **TAG}},
        ),
        ("sglang", {"structured_outputs": {"regex": "a+"}}, {"regex": "a+"}),
        ("sglang", {"chat_template_kwargs": {"x": 1}}, {"chat_template_kwargs": {"x": 1}}),
        ("fireworks", {"guided_json": json.dumps(CLOSED)}, schema(CLOSED, strict=True)),
        (
            "fireworks",
            {"guided_grammar": GBNF},
            {"response_format": {"type": "grammar", "grammar": GBNF}},
        ),
        (
            "fireworks",
            {"guided_choice": CHOICES},
            {"response_format": {"type": "grammar", "grammar": GBNF}},
        ),
        ("llama_cpp", {"guided_choice": CHOICES}, {"grammar": GBNF}),
        ("openai", {"guided_json": CLOSED}, schema(CLOSED, strict=True)),
        ("openai_compatible", {"guided_json": OPEN}, schema(OPEN, strict=False)),
        (
            "openrouter",
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"reasoning": {"enabled": False}},
        ),
        (
            "zai",
            {"chat_template_kwargs": {"thinking": True}},
            {"thinking": {"type": "enabled"}},
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_constraint_is_said_in_the_servers_words(
    look_alikes: LookAlikes, kind: str, asked: dict[str, Any], said: dict[str, Any], stream: bool
) -> None:
    answer = look_alikes.caller(kind).ask("script:echo", **asked, stream=stream)

    assert answer.status == 200, answer.body
    body = json.loads((json.loads(answer.text) if stream else answer.echo)["body_text"])
    asked_for = body.keys() - {"model", "messages", "stream", "stream_options"}
    assert {name: body[name] for name in asked_for} == said
    assert dropped(answer) == set()


@pytest.mark.parametrize(
    ("kind", "asked", "param"),
    [
        ("openai", {"guided_regex": "a+"}, "guided_regex"),
        ("openai", {"guided_grammar": GBNF}, "guided_grammar"),
        ("openai", {"structured_outputs": {"regex": "a"}}, "structured_outputs.regex"),
        ("openai", {"structural_tag": TAG}, "structural_tag"),
        ("openai", {"chat_template_kwargs": {"a": 1}}, "chat_template_kwargs"),
        ("openai", {"mm_processor_kwargs": {"a": 1}}, "mm_processor_kwargs"),
        ("openai", {"guided_choice": CHOICES, "stream": True}, "guided_choice"),
        ("deepseek", {"guided_json": OPEN}, "guided_json"),
        ("deepseek", {"guided_choice": CHOICES}, "guided_choice"),
        ("zai", {"chat_template_kwargs": {"thinking": "very"}}, "chat_template_kwargs"),
        ("fireworks", {"guided_regex": "a+"}, "guided_regex"),
        ("sglang", {"mm_processor_kwargs": {"a": 1}}, "mm_processor_kwargs"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    look_alikes: LookAlikes, kind: str, asked: dict[str, Any], param: str
) -> None:
    answer = look_alikes.caller(kind).ask(**asked)

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
    assert answer.error["param"] == param


def test_a_choice_is_taken_out_of_its_object(look_alikes: LookAlikes) -> None:
    caller = look_alikes.caller("openai")

    answer = caller.ask("Well?", guided_choice=["yes", "no"])
    assert answer.text == "yes"
    cut = caller.ask("Well?", guided_choice=["yes", "no"], max_tokens=1)
    assert (cut.text, cut.json["choices"][0]["finish_reason"]) == ('{"ch', "length")
    wrong = caller.ask("script:echo", guided_choice=["yes", "no"])
    assert (wrong.status, wrong.error["code"]) == (502, "provider_unavailable")


def test_a_hint_that_a_server_has_no_word_for_is_named(look_alikes: LookAlikes) -> None:
    answer = look_alikes.caller("sglang").ask(
        "script:echo", guided_regex="a+", guided_decoding_backend="xgrammar"
    )

    assert dropped(answer) == {"guided_decoding_backend"}
    assert "guided_decoding_backend" not in sent(answer)


def test_nothing_is_as_good_as_null(look_alikes: LookAlikes) -> None:
    nulls: dict[str, Any] = {"guided_json": None, "chat_template": None, "structural_tag": None}

    body = sent(look_alikes.caller("openai").ask("script:echo", **nulls))

    assert body.keys() == {"model", "messages"}
