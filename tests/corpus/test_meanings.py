"""Group C: calls that make no sense, and those that do though they look odd.

C42 is in test_large_bodies, C46 and C48 in test_idempotency.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.corpus.bodies import call
from tests.corpus.meanings import CASES, NO_SCHEMAS, SCRIPTS, SERVED, Case, schema, tool, user
from tests.corpus.oracle import Witness, assert_refused, assert_refused_in_records
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site


def send(site: Site, caller: Caller, members: dict[str, Any]) -> Answer:
    raw = with_key(request(body=call(**members)), caller.secret)
    return talk(site.gateway.port, raw, answers=1).answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_call_that_makes_no_sense_is_refused(
    site: Site, abused: Caller, witness: Witness, case: Case
) -> None:
    answer = send(site, abused, case.members)

    assert_refused(answer, case.status, case.code)
    assert answer.error["param"] == case.param


def test_refusals_are_recorded_and_hold_nothing(site: Site, witness: Witness) -> None:
    sender = site.caller()

    for case in CASES:
        send(site, sender, case.members)

    assert_refused_in_records(site, sender, Counter(case.code for case in CASES))


@pytest.mark.parametrize("members", SERVED.values(), ids=SERVED)
def test_what_is_odd_and_good_is_served(
    site: Site, healthy: Caller, witness: Witness, members: dict[str, Any]
) -> None:
    witness.expected_calls = 1

    answer = send(site, healthy, members)
    simulated = send(site, healthy, members | {"model": site.gateway.model})

    assert (answer.status, answer.json["model"]) == (200, "fake-model"), answer.body
    assert simulated.status == 200, simulated.body
    assert site.record(answer.call_id)["charge_nusd"] > 0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script[:30])
@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_the_simulated_model_survives_its_scripts(
    site: Site, healthy: Caller, witness: Witness, script: str, stream: bool
) -> None:
    members = user(f"script:{script}") | {"max_tokens": 50, "stream": stream}
    members["model"] = site.gateway.model

    with healthy.begin(**members) as live:
        answer = live.answer()

    assert answer.status in (200, 400, 502), answer.body
    assert answer.is_whole


@pytest.mark.parametrize("wrong", NO_SCHEMAS, ids=repr)
def test_a_schema_that_is_none_is_the_requests_fault(
    site: Site, healthy: Caller, witness: Witness, wrong: dict[str, Any]
) -> None:
    calls = (
        {"response_format": schema(**wrong)},
        {"tools": [tool(parameters=wrong)], "tool_choice": "required"},
    )

    for members in calls:
        answer = send(site, healthy, members | {"model": site.gateway.model})

        if answer.status != 200:
            assert_refused(answer, 400, "invalid_request")


def test_a_model_that_is_not_allowed_is_not_reached_by_another_name(  # C4, C5
    site: Site, witness: Witness
) -> None:
    limited = site.caller(allowed_models=["free-model"])
    names = ("fake-model", "fake-model:chat", "tensorzero::model_name::fake-model")

    for name in names:
        assert_refused(send(site, limited, {"model": name}), 403, "model_not_allowed")

    assert_refused_in_records(site, limited, Counter(model_not_allowed=len(names)))


def test_choices_multiply_the_hold(site: Site, witness: Witness) -> None:  # C16
    sender = site.caller()
    one, many = (send(site, sender, {"n": n, "max_tokens": 10}) for n in (1, 7))
    witness.expected_calls = 2

    holds = [site.record(answer.call_id)["hold_nusd"] for answer in (one, many)]

    assert holds[1] - holds[0] == 6 * 10 * OUTPUT_NUSD


def test_what_the_balance_does_not_cover_is_lowered_or_refused(  # C19
    site: Site, witness: Witness
) -> None:
    prompt_nusd = 20 * INPUT_NUSD
    poor = site.caller(credit_nusd=prompt_nusd + 50 * OUTPUT_NUSD)
    penniless = site.caller(credit_nusd=0)
    witness.expected_calls = 1

    lowered = poor.ask("script:echo", max_tokens=10_000)
    refused = send(site, penniless, {"max_tokens": 1})

    assert 1 <= json.loads(lowered.echo["body_text"])["max_tokens"] <= 60
    record = site.record(lowered.call_id)
    assert 0 < record["charge_nusd"] <= record["hold_nusd"]
    assert_refused(refused, 402, "insufficient_credits")


@pytest.mark.parametrize("model", ["fake-model", ""])
def test_usage_that_is_not_wanted_is_accounted_for(  # C27
    site: Site, healthy: Caller, witness: Witness, model: str
) -> None:
    witness.expected_calls = int(bool(model))

    answer = healthy.stream(
        model=model or site.gateway.model, stream_options={"include_usage": False}
    )

    assert all("usage" not in chunk for chunk in answer.chunks)
    record = site.record(answer.call_id)
    assert record["charge_basis"] == "usage"
    assert record["completion_tokens"] > 0


ELSEWHERE = (
    *("engines/x", "engines/x/completions", "edits", "realtime", "responses/"),
    *("chat", "chat/", "chat/completions/", "chat/completions/x", "Chat/Completions", "fine_tunes"),
    *("chat//completions", "../v1/chat/completions", "chat/%63ompletions/", "chat/completions;a"),
)


@pytest.mark.parametrize("path", ELSEWHERE)
@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/compat/unified/v1"])
def test_what_is_no_endpoint_says_so_in_json(  # C50
    site: Site, abused: Caller, witness: Witness, mount: str, path: str
) -> None:
    raw = with_key(request(line=f"POST {mount}/{path} HTTP/1.1"), abused.secret)

    answer = talk(site.gateway.port, raw, answers=1).answer

    assert_refused(answer, 404, "not_found")


def test_a_parameter_that_is_dropped_writes_no_header(site: Site, witness: Witness) -> None:
    site.add_model("narrow-model", unknown_fields="drop")
    names = [
        "a\r\nX-Evil: 1",
        "b\nX-Evil: 1",
        "\u00e9",
        "c d",
        "\0",
        *("x" * n for n in range(9, 256)),
    ]
    sender = site.caller(credit_nusd=NUSD_PER_USD)
    members: dict[str, Any] = dict.fromkeys(names, 1)
    witness.expected_calls = 1

    answer = sender.ask(model="narrow-model", **members)

    assert answer.status == 200
    assert "x-evil" not in answer.headers
    assert answer.headers["x-dropped-params"].startswith("?,a??X-Evil:?1,b?X-Evil:?1,c?d,x")
    assert len(answer.headers["x-dropped-params"]) <= 4_096
