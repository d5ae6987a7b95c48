"""What Text Generation Inference is sent, and what comes of its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.asking import LOOK_UP
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.whole_message import BOTH, message_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
AS_JSON = {"type": "json", "value": SCHEMA}
AS_REGEX = {"type": "regex", "value": "a+"}


@pytest.fixture(scope="module")
def tgi_site(site: Site) -> Site:
    base_url = f"{site.upstream.origin}/tgi/v1"
    provider = site.office.do("provider", name="tgi", kind="tgi", base_url=base_url)
    site.add_model("on-tgi", provider=provider, native_model="tgi")
    return site


@pytest.fixture
def tgi(tgi_site: Site) -> Caller:
    return tgi_site.caller().with_(model="on-tgi")


def sent(caller: Caller, **asked: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the body that reached the server, and the names of what did not."""
    answer = caller.ask("script:echo", **asked)
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body, set(filter(None, answer.headers.get("x-dropped-params", "").split(",")))


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        ({"response_format": FORMAT}, AS_JSON),
        ({"guided_json": SCHEMA}, AS_JSON),
        ({"guided_json": json.dumps(SCHEMA)}, AS_JSON),
        ({"structured_outputs": {"json": SCHEMA}}, AS_JSON),
        ({"guided_regex": "a+"}, AS_REGEX),
        ({"structured_outputs": {"regex": "a+"}}, AS_REGEX),
        ({"guided_choice": ["a", "b.c"]}, {"type": "regex", "value": "(a|b\\.c)"}),
        ({"response_format": {"type": "text"}}, None),
    ],
)
def test_the_form_of_an_answer_has_the_servers_words(
    tgi: Caller, asked: dict[str, Any], form: dict[str, Any] | None
) -> None:
    body, dropped = sent(tgi, **asked)

    assert body.get("response_format") == form
    given = {"guided_json", "guided_regex", "guided_choice", "structured_outputs"}
    assert not given & body.keys()
    assert dropped == set()


@pytest.mark.parametrize(
    ("asked", "lost"),
    [
        ({"response_format": {"type": "json_object"}}, {"response_format"}),
        ({"guided_regex": "a+", "guided_decoding_backend": "auto"}, {"guided_decoding_backend"}),
        ({"top_p": 1}, set()),
        ({"logit_bias": {"1": 1}, "user": "u", "top_k": 5}, {"logit_bias", "user", "top_k"}),
        ({"tools": [LOOK_UP], "parallel_tool_calls": False}, {"parallel_tool_calls"}),
    ],
)
def test_what_the_server_has_no_word_for_is_named(
    tgi: Caller, asked: dict[str, Any], lost: set[str]
) -> None:
    body, dropped = sent(tgi, **asked)

    assert dropped == lost
    assert not asked.keys() - {"tools", "guided_regex"} & body.keys()


@pytest.mark.parametrize("stop", ["HALT!", ["HALT!"]])
def test_what_stops_an_answer_is_a_list(tgi: Caller, stop: Any) -> None:
    assert sent(tgi, stop=stop)[0]["stop"] == ["HALT!"]


@pytest.mark.parametrize("text", ["Let me see.", "", None])
def test_calls_of_tools_do_not_stand_beside_a_text(tgi: Caller, text: str | None) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    spoken = {"role": "assistant", "content": text}
    result = {"role": "tool", "tool_call_id": "a", "content": "Rain."}
    again = [{"role": "user", "content": "script:echo"}]

    body, _ = sent(tgi, messages=[*again, spoken | {"tool_calls": [call]}, result, *again])

    silent = {"role": "assistant", "tool_calls": [call]}
    told = [spoken, silent] if text else [silent]
    assert body["messages"] == [*again, *told, result, *again]


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"guided_grammar": "root ::= a"}, "guided_grammar"),
        ({"structured_outputs": {"grammar": "root ::= a"}}, "structured_outputs.grammar"),
        ({"tools": [LOOK_UP], "response_format": FORMAT}, "tools"),
        ({"tools": [LOOK_UP], "guided_regex": "a+"}, "tools"),
        ({"n": 2}, "n"),
    ],
)
def test_what_would_change_the_answer_is_refused(
    tgi: Caller, asked: dict[str, Any], param: str
) -> None:
    answer = tgi.ask(**asked)

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter"), answer.body
    assert answer.error["param"] == param


@BOTH
def test_calls_of_tools_are_as_openais(tgi: Caller, stream: bool) -> None:
    message = message_of(tgi.ask("script:tools=1", stream=stream, tools=[LOOK_UP]))

    assert message["finish_reason"] == "tool_calls"
    [call] = message["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


@BOTH
def test_a_call_costs_its_input_and_its_output(tgi_site: Site, tgi: Caller, stream: bool) -> None:
    answer = tgi.ask("script:tokens=4", stream=stream)

    assert message_of(answer)["content"] == "tok0 tok1 tok2 tok3 "
    assert tgi_site.record(answer.call_id)["charge_nusd"] == INPUT_NUSD + 4 * OUTPUT_NUSD


@BOTH
@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("fail=422", 400, "invalid_request"),
        (
            "fail=422&message=`inputs`+tokens+%2B+`max_new_tokens`+must+be+<=+8192.",
            400,
            "context_length_exceeded",
        ),
        ("fail=429&code=overloaded", 529, "provider_overloaded"),
        ("fail=424&code=generation", 502, "provider_unavailable"),
        ("fail=500&code=incomplete_generation", 502, "provider_unavailable"),
    ],
)
def test_each_refusal_has_its_meaning(
    tgi: Caller, script: str, status: int, code: str, stream: bool
) -> None:
    answer = tgi.ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body
