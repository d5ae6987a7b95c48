"""Every member of a class of bodies instead of its examples: each end, each flipped bit, each
place to split (J4). The calls are for the simulated model: what a flipped bit leaves good goes
nowhere.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.test_sweeps import answers_to_splits, flips
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

FUNCTION = {
    "name": "look",
    "parameters": {"type": "object", "properties": {"a": {"enum": [1, -2.5]}}},
}


def whole_call(site: Site) -> bytes:
    """Return a call that has some of everything."""
    said = 'Say "é\u2028": {now} \\ [😀]'
    call = {
        "model": site.gateway.model,
        "messages": [{"role": "user", "content": [{"type": "text", "text": said}]}],
        "tools": [{"type": "function", "function": FUNCTION}],
        "stop": ["\n"],
        "max_tokens": 20,
        "metadata": {"a": [True, None, 1e3]},
    }
    return json.dumps(call, ensure_ascii=False).encode()


def ask(line: Line, body: bytes, secret: str) -> Answer:
    line.send(with_key(request(body=body), secret))
    return line.listen(answers=1).answer


def test_a_body_that_ends_at_any_byte_is_no_json(
    site: Site, abused: Caller, witness: Witness
) -> None:
    body = whole_call(site)

    with Line(site.gateway.port) as line:
        for size in range(len(body)):
            assert_refused(ask(line, body[:size], abused.secret), 400, "invalid_json")


def test_any_bit_of_a_body_may_flip(site: Site, healthy: Caller, witness: Witness) -> None:
    body = whole_call(site)
    served = 0

    with Line(site.gateway.port) as line:
        for flipped in flips(body):
            answer = ask(line, flipped, healthy.secret)
            if answer.status == 200:
                served += 1
                assert answer.json["object"] == "chat.completion"
            else:
                assert answer.status in (400, 403, 404), (flipped, answer)
                assert_refused(answer, answer.status, answer.error["code"])

    assert 0 < served < 8 * len(body)


def gist(answer: Answer) -> Any:
    """Return what has to be the same of two answers to the same request."""
    if answer.status == 200:
        return 200, answer.json["choices"], answer.json["usage"]
    return answer.status, answer.error | {"request_id": ""}


@pytest.mark.parametrize("good", [True, False], ids=["a call", "no call"])
def test_a_request_may_be_split_anywhere(
    site: Site, healthy: Caller, witness: Witness, good: bool
) -> None:
    body = whole_call(site) if good else whole_call(site).replace(b'"user"', b'"USER"')
    raw = with_key(request(body=body), healthy.secret)
    expected = gist(talk(site.gateway.port, raw, answers=1).answer)

    for answer in answers_to_splits(site, raw):
        assert gist(answer) == expected


def test_a_request_may_come_byte_by_byte(site: Site, healthy: Caller, witness: Witness) -> None:
    raw = with_key(request(body=whole_call(site)), healthy.secret)
    expected = gist(talk(site.gateway.port, raw, answers=1).answer)

    pieces = [raw[place : place + 1] for place in range(len(raw))]
    answer = talk(site.gateway.port, *pieces, pause_s=0.0005, answers=1).answer

    assert gist(answer) == expected
