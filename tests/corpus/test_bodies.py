"""Group J: what a body may look like, against a key that is good.

J4 is with the other sweeps, what takes tens of megabytes in test_large_bodies. Not here, because
there is nothing of the kind: the pages that show a prompt are watched where pages are tested
(J15). A head with a Content-Type of 70 KB is cut like any other too long (J7).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.corpus.bodies import CASES, SERVED, Case, call
from tests.corpus.oracle import Witness, assert_cut, assert_refused, assert_refused_in_records
from tests.corpus.wire import Talk, request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site

ECHO = [{"role": "user", "content": "script:echo"}]


def send(site: Site, caller: Caller, case: Case) -> Talk:
    raw = with_key(request(*case.headers, body=case.body), caller.secret)
    return talk(site.gateway.port, raw, answers=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_body_that_is_no_call_is_refused(
    site: Site, abused: Caller, witness: Witness, case: Case
) -> None:
    answer = send(site, abused, case).answer

    assert_refused(answer, case.status, case.code)
    if case.param != "":
        assert answer.error["param"] == case.param


def test_all_of_it_leaves_records_of_refusals_and_no_more_memory(
    site: Site, witness: Witness
) -> None:
    sender = site.caller()
    for case in CASES:
        send(site, sender, case)
    before = witness.rss_bytes(), witness.open_files()

    for _ in range(4):
        for case in CASES:
            send(site, sender, case)

    assert witness.rss_bytes() - before[0] < 10 * 1024 * 1024
    assert witness.open_files() - before[1] < 10
    assert_refused_in_records(site, sender, Counter(5 * [case.code for case in CASES]))


@pytest.mark.parametrize("member", SERVED.values(), ids=SERVED)
def test_what_is_odd_and_good_reaches_the_provider_as_it_is(
    site: Site, healthy: Caller, witness: Witness, member: bytes
) -> None:
    body = call(member, messages=ECHO)
    witness.expected_calls = 1

    raw = with_key(request(body=body), healthy.secret)
    answer = talk(site.gateway.port, raw, answers=1).answer

    assert answer.status == 200, answer.body
    assert json.loads(answer.echo["body_text"]) == json.loads(body) | {"model": "fake-model"}


@pytest.mark.parametrize("member", SERVED.values(), ids=SERVED)
def test_what_is_odd_and_good_does_no_harm_to_the_simulated_model(
    site: Site, healthy: Caller, witness: Witness, member: bytes
) -> None:
    raw = request(body=call(member, model=site.gateway.model))

    answer = talk(site.gateway.port, with_key(raw, healthy.secret), answers=1).answer

    assert (answer.status, answer.json["object"]) == (200, "chat.completion")


NULLS = (
    *("stream", "stream_options", "temperature", "top_p", "top_k", "max_tokens", "stop", "seed"),
    *("max_completion_tokens", "frequency_penalty", "presence_penalty", "n", "logprobs", "user"),
    *("top_logprobs", "logit_bias", "response_format", "tools", "tool_choice", "metadata"),
    *("parallel_tool_calls", "reasoning_effort", "plugins", "models", "inferada", "functions"),
    *("guided_json", "chat_template", "tensorzero::episode_id", "service_tier", "store"),
)


def test_null_is_absent(site: Site, healthy: Caller, witness: Witness) -> None:  # J39
    witness.expected_calls = len(NULLS) + 1

    wishes: list[dict[str, Any]] = [dict.fromkeys(NULLS), *({name: None} for name in NULLS)]
    answers = [healthy.ask(**wish) for wish in wishes]

    assert [answer.status for answer in answers] == [200] * len(answers)
    assert all(answer.json["object"] == "chat.completion" for answer in answers)


@pytest.mark.parametrize("size", [10**8, 2**31, 2**63, 10**19])
def test_a_body_that_is_said_to_be_too_long_is_not_read(  # J29
    site: Site, abused: Caller, witness: Witness, size: int
) -> None:
    raw = with_key(request(f"Content-Length: {size}", body=b"", sized=False), abused.secret)

    assert_cut(talk(site.gateway.port, raw), 413, "payload_too_large")


def test_a_body_in_chunks_is_cut_where_it_is_too_long(  # J30
    site: Site, abused: Caller, witness: Witness
) -> None:
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    head = with_key(request("Transfer-Encoding: chunked", body=b"", sized=False), abused.secret)

    answered = talk(site.gateway.port, head, *[chunk] * 100)

    assert_cut(answered, 413, "payload_too_large")


@pytest.mark.parametrize(("size", "status"), [(7_000, 200), (70_000, 431)])
def test_a_content_type_may_have_parameters_as_long_as_a_header(  # J7
    site: Site, healthy: Caller, witness: Witness, size: int, status: int
) -> None:
    raw = with_key(request(f"Content-Type: application/json; a={'x' * size}"), healthy.secret)
    witness.expected_calls = int(status == 200)

    assert talk(site.gateway.port, raw, answers=1).answer.status == status


@pytest.mark.parametrize(
    "kind", ["Application/JSON", "application/json;charset=utf-8", "application/problem+json", ""]
)
def test_json_may_be_called_by_its_other_names(
    site: Site, healthy: Caller, witness: Witness, kind: str
) -> None:
    raw = with_key(request(f"Content-Type: {kind}"), healthy.secret)
    witness.expected_calls = 1

    assert talk(site.gateway.port, raw, answers=1).answer.status == 200
