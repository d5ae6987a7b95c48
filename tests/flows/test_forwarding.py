"""What goes upstream: the caller's own bytes, but for what is ours to change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.core.token_bounds import TOKENS_PER_MESSAGE, bound_tokens
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site

ECHO = '{"role":"user","content":"script:echo"}'
# What a hold covers for that prompt.
PROMPT_NUSD = (TOKENS_PER_MESSAGE + bound_tokens("script:echo")) * INPUT_NUSD


def sent_upstream(caller: Caller, members: str) -> str:
    """Make a call with these members after model and messages; return the body that arrived."""
    body = f'{{"model":"{caller.model}","messages":[{ECHO}]{members}}}'
    answer = caller.ask(raw=body.encode())
    assert answer.status == 200, answer.body
    return str(answer.echo["body_text"])


UNTOUCHED = {
    "numbers keep their spelling": ',"temperature":1.50,"top_p":1e-1,"seed":-0',
    "unknown members pass": ',"future":{"a":[1,null,true,"x"]},"min_p":0.050,"Stored":true',
    "spaces pass": ',"metadata":{ "b" : "1" ,\t"a":\r\n"2"}',
    "escapes stay escapes": ',"metadata":{"a":"\\u00e9\\ud83d\\ude00\\/\\n"}',
    "unicode stays unicode": ',"user":"é😀\u2028"',
    "order is kept": ',"z":1,"a":2,"m":3',
    "a limit within the model's": ',"max_tokens":50',
    "the other spelling": ',"max_completion_tokens":50',
    "tools": ',"tools":[{"type":"function","function":{"name":"f","x-extra":1.0}}]',
    "names that look like ours": ',"inferada_x":1,"tensorzero":2,"plugins_":3',
}


@pytest.mark.parametrize("members", UNTOUCHED.values(), ids=UNTOUCHED)
def test_the_callers_own_bytes_go_through(caller: Caller, members: str) -> None:
    arrived = sent_upstream(caller, members)

    assert arrived == f'{{"model":"fake-model","messages":[{ECHO}]{members}}}'


def test_members_before_the_model_keep_their_place(caller: Caller) -> None:
    body = f'{{ "seed" : 1.0e0, "messages":[ {ECHO} ] , "model" : "fake-model" }}'

    answer = caller.ask(raw=body.replace("1.0e0", "10").encode())

    expected = f'{{"seed":10,"messages":[ {ECHO} ],"model":"fake-model"}}'
    assert answer.echo["body_text"] == expected


def test_the_model_is_renamed(site: Site, caller: Caller) -> None:
    site.add_model("public/name:1", native_model="native name\\1")

    arrived = sent_upstream(caller.with_(model="public/name:1"), "")

    assert json.loads(arrived)["model"] == "native name\\1"


@pytest.mark.parametrize(
    "members",
    [
        ',"inferada":{"language":"nl","haystack":{"data":[1]}}',
        ',"plugins":[]',
        ',"hi_tool_events":true',
        ',"models":null',
        ',"tensorzero::episode_id":"01977ed9-7492-7b70-8347-9564aeb44a24"',
    ],
)
def test_members_meant_for_the_gateway_stay_here(caller: Caller, members: str) -> None:
    arrived = sent_upstream(caller, members + ',"seed":1')

    assert arrived == f'{{"model":"fake-model","messages":[{ECHO}],"seed":1}}'


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": True}])
def test_usage_is_always_asked_for_and_shown_as_the_caller_wishes(
    caller: Caller, options: dict[str, Any] | None
) -> None:
    answer = caller.stream("script:echo", stream_options=options)

    asked = json.loads(answer.echo["body_text"])["stream_options"]
    assert asked == {"include_usage": True}
    separate = [chunk for chunk in answer.chunks if not chunk["choices"]]
    assert bool(separate) == bool(options and options.get("include_usage"))


def test_other_stream_options_pass(caller: Caller) -> None:
    options = {"include_obfuscation": False, "include_usage": False}

    answer = caller.stream("script:echo", stream_options=options)

    asked = json.loads(answer.echo["body_text"])["stream_options"]
    assert asked == {"include_obfuscation": False, "include_usage": True}


def test_stream_options_without_a_stream_are_accepted_and_not_sent(caller: Caller) -> None:
    arrived = sent_upstream(caller, ',"stream_options":{"include_usage":true},"seed":1')

    assert arrived == f'{{"model":"fake-model","messages":[{ECHO}],"seed":1}}'


@pytest.mark.parametrize(
    ("members", "limits"),
    [
        (',"max_tokens":101', {"max_tokens": 100}),
        (',"max_completion_tokens":9007199254740991', {"max_completion_tokens": 100}),
        (',"max_tokens":100', {"max_tokens": 100}),
        ("", {}),
        (',"max_tokens":7,"max_completion_tokens":9', {"max_tokens": 7}),
        (',"max_completion_tokens":9,"max_tokens":7', {"max_tokens": 7}),
        (',"max_tokens":700,"max_completion_tokens":900', {"max_tokens": 100}),
        (',"max_tokens":null,"max_completion_tokens":9', {"max_completion_tokens": 9}),
    ],
)
def test_one_limit_goes_upstream_and_none_beyond_the_models(
    caller: Caller, members: str, limits: dict[str, int]
) -> None:
    arrived = json.loads(sent_upstream(caller.with_(model="small-model"), members))

    sent = {name: arrived.get(name) for name in ("max_tokens", "max_completion_tokens")}
    assert {name: value for name, value in sent.items() if value is not None} == limits


@pytest.mark.parametrize("members", ["", ',"max_tokens":9000', ',"max_completion_tokens":9000'])
def test_the_limit_is_lowered_to_what_the_balance_covers(site: Site, members: str) -> None:
    tokens = 40
    caller = site.caller(credit_nusd=PROMPT_NUSD + tokens * OUTPUT_NUSD + OUTPUT_NUSD // 2)

    arrived = json.loads(sent_upstream(caller, members))

    name = "max_completion_tokens" if "completion" in members else "max_tokens"
    assert arrived[name] == tokens


def test_a_balance_shared_by_several_choices_lowers_each(site: Site) -> None:
    caller = site.caller(credit_nusd=PROMPT_NUSD + 40 * OUTPUT_NUSD)

    arrived = json.loads(sent_upstream(caller, ',"n":4'))

    assert arrived["max_tokens"] == 10


def test_only_our_own_headers_go_upstream(caller: Caller) -> None:
    mine = {"cookie": "a=b", "x-forwarded-for": "1.2.3.4", "openai-organization": "o", "x-a": "b"}

    answer = caller.ask("script:echo", headers=mine)

    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert headers["x-request-id"] == answer.call_id
    assert set(headers) == {
        *("host", "authorization", "content-type", "content-length", "accept"),
        *("accept-encoding", "user-agent", "x-request-id"),
    }
    assert caller.secret not in str(answer.echo)


def test_the_id_a_caller_gives_is_echoed_and_not_forwarded(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:echo", headers={"x-request-id": "mine-1"})

    assert answer.headers["x-client-request-id"] == "mine-1"
    assert "mine-1" not in str(answer.echo)
    assert site.record(answer.call_id)["client_request_id"] == "mine-1"


def test_any_tool_is_asked_for_in_the_usual_word(caller: Caller) -> None:
    tool = {"type": "function", "function": {"name": "look"}}

    answer = caller.ask("script:echo&finish=stop", tools=[tool], tool_choice="any")

    assert json.loads(answer.echo["body_text"])["tool_choice"] == "required"


def test_a_buffered_answer_has_a_fingerprint_if_only_null(caller: Caller) -> None:
    answer = caller.with_(model="tollhouse/simulated").ask("script:tokens=1")

    assert answer.json["system_fingerprint"] is None


def test_an_answer_says_who_answered_and_what_it_cost(site: Site, caller: Caller) -> None:
    answer = caller.ask("one two three")

    said = answer.json
    assert said["id"] == answer.headers["x-generation-id"] == f"chatcmpl-{answer.call_id}"
    assert said["model"] == answer.headers["x-model-used"] == "fake-model"
    assert said["usage"]["cost"] == (3 * INPUT_NUSD + 10 * OUTPUT_NUSD) / 10**9
    assert said["system_fingerprint"] == "fp_fake"
    assert float(answer.headers["x-credits-used"]) == said["credits_used"]
    timings = said["timings"]
    assert timings["total_ms"] == timings["upstream_ms"] + timings.get("gateway_ms", 0)
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["charge_nusd"] == 3 * INPUT_NUSD + 10 * OUTPUT_NUSD


def test_credits_in_the_header_are_those_in_the_body(site: Site) -> None:
    caller = site.caller(credit_nusd=10**12)
    site.add_model("dear-model", input_pusd=123_456_789_000, output_pusd=1_000_000_000)

    answer = caller.with_(model="dear-model").ask("word " * 100)

    assert answer.json["credits_used"] > 1_000
    assert answer.headers["x-credits-used"] == json.dumps(answer.json["credits_used"])
