"""What is refused, and how: every refusal names the member at fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import EMBEDDINGS, embed, vectors
from tests.flows.site import Site
from tests.flows.transports import DIRECT, TRANSPORTS, both_transports

LONG = "x" * 257
REFUSED: dict[str, tuple[dict[str, Any], str | None]] = {
    "no input": ({"input": None}, "input"),
    "empty text": ({"input": ""}, "input"),
    "no inputs": ({"input": []}, "input"),
    "one empty text": ({"input": ["a", ""]}, "input[1]"),
    "one empty list": ({"input": [[1], []]}, "input[1]"),
    "a number": ({"input": 7}, "input"),
    "an object": ({"input": {"text": "a"}}, "input"),
    "a fraction": ({"input": [1.5]}, "input[0]"),
    "a negative token": ({"input": [1, -1]}, "input[1]"),
    "a token that is too large": ({"input": [[2**31]]}, "input[0][0]"),
    "texts and tokens": ({"input": ["a", 1]}, "input[1]"),
    "tokens and lists": ({"input": [1, [1]]}, "input[1]"),
    "null among texts": ({"input": ["a", None]}, "input[1]"),
    "too deep": ({"input": [[["a"]]]}, "input[0][0]"),
    "too many texts": ({"input": ["a"] * 2049}, "input"),
    "too many lists": ({"input": [[1]] * 2049}, "input"),
    "too many tokens": ({"input": [1] * 300_001}, "input"),
    "too many tokens in lists": ({"input": [[1] * 150_001] * 2}, "input"),
    "no dimension": ({"dimensions": 0}, "dimensions"),
    "a text for dimensions": ({"dimensions": "8"}, "dimensions"),
    "too many dimensions": ({"dimensions": 10**9}, "dimensions"),
    "another form": ({"encoding_format": "int8"}, "encoding_format"),
    "a form that is no text": ({"encoding_format": 1}, "encoding_format"),
    "a stream": ({"stream": True}, "stream"),
    "options of a stream": ({"stream_options": {"include_usage": True}}, "stream_options"),
    "processors": ({"inferada": {"processors": ["redact"]}}, "inferada"),
    "no model": ({"model": ""}, "model"),
    "a user that is no text": ({"user": 7}, "user"),
    "another address": ({"base_url": "http://127.0.0.1"}, "base_url"),
    "a field denied": ({"x": 1, "tensorzero::deny_unknown_fields": True}, "x"),
    "a name that is too long": ({LONG: 1}, None),
    "another episode": ({"tensorzero::episode_id": "x"}, "tensorzero::episode_id"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_the_callers_fault(site: Site, caller: Caller, case: str) -> None:
    members, param = REFUSED[case]

    answer = embed(caller, members.get("input", "hello"), **members)

    assert answer.status == 400
    assert answer.error["param"] == param
    assert answer.error["message"]
    assert site.records(caller)[0]["charge_nusd"] == 0


@pytest.mark.parametrize("value", [None, False])
def test_what_asks_for_no_stream_is_taken(caller: Caller, value: object) -> None:
    assert vectors(embed(caller, "hello", stream=value, stream_options=None))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"model":"fake-model","input":"a","input":"b"}', b"\xff", b"null"]
)
def test_what_is_no_object_is_refused(caller: Caller, raw: bytes) -> None:
    answer = caller.ask(path=EMBEDDINGS, raw=raw)

    assert answer.status == 400
    assert answer.error["message"]


def test_other_methods_are_refused(caller: Caller) -> None:
    answer = caller.ask(path=EMBEDDINGS, method="GET", raw=b"")

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_an_address_that_is_nearly_right_is_put_right(site: Site, caller: Caller) -> None:
    answer = caller.ask(path="/v1/v1/embeddings", raw=b"{}")

    assert answer.status == 404
    assert f"this endpoint is {site.gateway.origin}/v1/embeddings" in answer.error["message"]


def test_a_key_needs_the_scope_of_calls(site: Site) -> None:
    answer = embed(site.caller(scopes=["usage"]), "hello")

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")


def test_a_provider_without_the_operation_is_not_asked(site: Site, caller: Caller) -> None:
    address = f"{site.upstream.origin}/anthropic/v1"
    site.office.do(
        "provider", name="no-vectors", kind="anthropic", base_url=address, credential="sk-x"
    )
    model = site.add_model("claude-chat-only", provider="no-vectors")

    answer = embed(caller.with_(model=model), "hello")
    served = embed(caller, ["script:fail=503"], models=[model, "tollhouse/simulated"])

    assert (answer.status, answer.error["param"]) == (400, "model")
    assert answer.error["code"] == "endpoint_not_supported_by_model"
    assert site.tries(answer.call_id) == []
    assert served.headers["x-model-used"] == "tollhouse/simulated"


def test_a_model_for_one_operation_is_asked_for_no_other(site: Site, caller: Caller) -> None:
    embedder = caller.with_(model=site.add_model("embedder-alone", operation="embeddings"))
    talker = caller.with_(model=site.add_model("talker-alone", operation="chat"))

    refused = [embedder.ask("hello"), embedder.stream("hello"), embed(talker, "hello")]
    listed = caller.ask(method="GET", path="/v1/models/embedder-alone", raw=b"").json

    assert vectors(embed(embedder, "hello"))
    assert talker.ask("hello").status == 200
    assert listed["supported_features"] == ["embeddings"]
    for answer in refused:
        assert (answer.status, answer.error["param"]) == (400, "model")
        assert answer.error["code"] == "endpoint_not_supported_by_model"
        assert site.tries(answer.call_id) == []


def test_an_input_beyond_the_context_is_refused(site: Site) -> None:
    model = site.add_model("short-embedder", context_tokens=8)
    caller = site.caller().with_(model=model)

    too_long = embed(caller, ["short", "word " * 9])
    too_many = embed(caller, list(range(9)))

    assert (too_long.error["code"], too_long.error["param"]) == (
        "context_length_exceeded",
        "input[1]",
    )
    assert (too_many.error["code"], too_many.error["param"]) == ("context_length_exceeded", "input")
    assert len(vectors(embed(caller, ["word " * 8] * 3))) == 3


NONSENSE = (
    *("vectors=fewer", "vectors=more", "vectors=twice", "vectors=raw:[]", "vectors=raw:7"),
    *("vectors=raw:null", "vectors=raw:[null]", 'vectors=raw:["a"]', "vectors=raw:[[1.0]]"),
    *('vectors=raw:""', 'vectors=raw:"AAA"', 'vectors=raw:"not base64!"', 'vectors=raw:"AAAA"'),
    *("vectors=raw:{}", "vectors=raw:[true]"),
)
CUT_OFF = ("truncate", "reset_at_byte=20", "drop=close")
FAULTS = [(DIRECT, script) for script in NONSENSE]
FAULTS += [(transport, script) for transport in TRANSPORTS for script in CUT_OFF]


@pytest.mark.parametrize(("transport", "script"), FAULTS, indirect=["transport"])
@pytest.mark.parametrize("form", ["float", "base64"])
def test_what_is_no_answer_is_the_providers_fault_and_free(
    site: Site, caller: Caller, script: str, form: str
) -> None:
    answer = embed(caller, [f"script:{script}", "b", "c"], encoding_format=form)

    assert answer.status == 502, answer.body
    assert answer.error["code"] == "provider_unavailable"
    record = site.record(answer.call_id)
    assert (record["charge_nusd"], record["charge_basis"]) == (0, "zero_upstream")


def test_numbers_beyond_any_float_harm_nobody(site: Site, caller: Caller) -> None:
    script = "script:vectors=raw:[1e999,0.5,%s]" % ("9" * 400)

    for form in ("float", "base64"):
        answer = embed(caller, script, encoding_format=form)
        assert answer.status == 200
        assert len(answer.json["data"]) == 1


@both_transports
@pytest.mark.parametrize(("status", "told"), [(400, 400), (401, 502), (429, 429), (500, 502)])
def test_a_providers_refusal_is_told_as_for_chat(caller: Caller, status: int, told: int) -> None:
    answer = embed(caller, f"script:fail={status}&message=No")

    assert answer.status == told
    assert answer.error["message"]


def test_nothing_is_logged_as_our_fault(site: Site) -> None:
    assert "Traceback" not in site.gateway.log.read_text()


def test_unknown_fields_follow_the_models_policy(site: Site, caller: Caller) -> None:
    site.office.do("model", name="dropping-embedder", provider="fake", unknown_fields="drop")
    model = site.add_model("rejecting-embedder", unknown_fields="reject")

    forwarded = embed(caller, "hello", x_own=1)
    dropped = embed(caller.with_(model="dropping-embedder"), "hello", x_own=1)
    rejected = embed(caller.with_(model=model), "hello", x_own=1)

    # The upstream is as strict as OpenAI.
    assert (forwarded.status, "x_own" in forwarded.error["message"]) == (400, True)
    assert (dropped.status, dropped.headers["x-dropped-params"]) == (200, "x_own")
    assert (rejected.status, rejected.error["param"]) == (400, "x_own")


@both_transports
def test_a_long_body_is_read_like_a_short_one(caller: Caller) -> None:
    texts = ["word " * 100] * 1000

    answer = embed(caller, texts)

    assert len(json.dumps(texts)) > 256 * 1024
    assert len(vectors(answer)) == 1000
