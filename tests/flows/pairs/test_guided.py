"""vLLM's constraints on answers: every dialect that has a JSON Schema for the response keeps to
them, whatever format asks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.pairs.conversation import ANSWER_SCHEMA, Format
from tests.flows.pairs.dialects import DIALECTS
from tests.flows.pairs.formats import FORMATS
from tests.flows.pairs.test_options import ASKED, named, sent
from tests.flows.site import NUSD_PER_USD, Site

CHAT_FORMAT = FORMATS[0]
KINDS = {dialect.name: dialect.model for dialect in DIALECTS}
# They have nothing of the kind but a JSON Schema for the response.
BY_SCHEMA = ("anthropic", "aws_bedrock", "aws_bedrock_anthropic", "gcp_vertex_anthropic", "cohere")
# They have regular expressions for a choice, which the fake provider does not play.
OF_EXPRESSIONS = {"tgi", "aws_sagemaker-tgi"}
of_every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
of_every_kind = pytest.mark.parametrize("kind", KINDS)
of_schemas_alone = pytest.mark.parametrize("kind", BY_SCHEMA)
CHOICES = ["yes", 'no "way"']
NO_CONSTRAINTS: list[dict[str, Any]] = [
    {"guided_json": 5},
    {"structured_outputs": "x"},
    {"structured_outputs": {"json": 5}},
    {"guided_choice": []},
    {"guided_choice": CHOICES, "guided_json": ANSWER_SCHEMA},
]
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": ANSWER_SCHEMA}}
MESSAGES_FORMAT = {"format": {"type": "json_schema", "schema": ANSWER_SCHEMA}}


@pytest.fixture(scope="module")
def asker(pairs_site: Site) -> Caller:
    return pairs_site.caller(credit_nusd=100 * NUSD_PER_USD)


def ask(caller: Caller, kind: str, form: Format, said: str = "Well?", **members: Any) -> Answer:
    path, least, _ = ASKED[form.name]
    name = "input" if "input" in least else "messages"
    question = {name: [{"role": "user", "content": said}]}
    body = least | question | {"model": KINDS[kind]} | members
    return caller.begin(raw=json.dumps(body).encode(), path=path).answer()


@of_every_format
@of_every_kind
def test_a_schema_is_kept_to(asker: Caller, kind: str, form: Format) -> None:
    answer = ask(asker, kind, form, guided_json=ANSWER_SCHEMA)

    assert answer.status == 200, answer.body
    assert json.loads(form.read(answer).text) == {"city": "tok0", "degrees": 7}
    assert named(answer) == set()


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - OF_EXPRESSIONS))
def test_a_choice_is_the_whole_text(asker: Caller, kind: str) -> None:
    answer = ask(asker, kind, CHAT_FORMAT, guided_choice=CHOICES)

    assert answer.status == 200, answer.body
    assert CHAT_FORMAT.read(answer).text == "yes"


@of_schemas_alone
def test_a_schema_is_sent_as_that_of_a_response_format(asker: Caller, kind: str) -> None:
    def body_of(**members: Any) -> object:
        return sent(CHAT_FORMAT, ask(asker, kind, CHAT_FORMAT, "script:echo", **members))

    wanted = body_of(response_format=FORMAT)
    for stream in (False, True):
        for asked in (
            {"guided_json": ANSWER_SCHEMA, "response_format": {"type": "text"}},
            {"guided_json": json.dumps(ANSWER_SCHEMA)},
            {"structured_outputs": {"json": ANSWER_SCHEMA}},
        ):
            answer = ask(asker, kind, CHAT_FORMAT, stream=stream, **asked)
            assert json.loads(answer.text) == {"city": "tok0", "degrees": 7}
            assert body_of(**asked) == wanted


@of_schemas_alone
def test_what_a_schema_cannot_say_is_refused(asker: Caller, kind: str) -> None:
    for asked, param in (
        ({"guided_choice": CHOICES, "stream": True}, "guided_choice"),
        ({"structured_outputs": {"choice": CHOICES}, "stream": True}, "structured_outputs.choice"),
        ({"guided_regex": "a+"}, "guided_regex"),
        ({"guided_grammar": "root ::= 7"}, "guided_grammar"),
        ({"structured_outputs": {"regex": "a+"}}, "structured_outputs.regex"),
        ({"structural_tag": {"structures": [], "triggers": []}}, "structural_tag"),
    ):
        answer = ask(asker, kind, CHAT_FORMAT, **asked)

        assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter"), param
        assert answer.error["param"] == param


@of_schemas_alone
def test_a_hint_is_left_out_and_named(asker: Caller, kind: str) -> None:
    hints = {"guided_decoding_backend": "xgrammar", "guided_whitespace_pattern": " ?"}

    answer = ask(asker, kind, CHAT_FORMAT, guided_json=ANSWER_SCHEMA, **hints)

    assert named(answer) == hints.keys()


def test_an_answer_that_is_cut_off_stays_as_it_is(asker: Caller) -> None:
    answer = ask(asker, "anthropic", CHAT_FORMAT, guided_choice=CHOICES, max_tokens=1)

    assert answer.json["choices"][0]["finish_reason"] == "length"
    assert answer.text == '{"ch'


def test_an_answer_that_is_none_of_the_choices_is_an_error(asker: Caller) -> None:
    answer = ask(asker, "anthropic", CHAT_FORMAT, "script:echo", guided_choice=CHOICES)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")


@of_every_format
def test_a_constraint_that_makes_no_sense_is_refused(asker: Caller, form: Format) -> None:
    for asked in NO_CONSTRAINTS:
        for kind in ("openai", "anthropic", "google_ai_studio_gemini"):
            answer = ask(asker, kind, form, **asked)
            assert answer.status == 400, (asked, answer.body)
            assert answer.error["param"].partition(".")[0] in asked


def test_a_format_of_messages_goes_without_a_constraint(asker: Caller) -> None:
    answer = ask(
        asker,
        "anthropic",
        FORMATS[1],
        output_config=MESSAGES_FORMAT,
        guided_json=ANSWER_SCHEMA,
    )

    assert (answer.status, answer.error["param"]) == (400, "guided_json")
