"""backtest_rules over calls that were really made, while the gateway runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.test_limit_rules import limit
from tests.flows.test_sessions import PASSWORD, Visitor

A_DAY = ("--period", "day")


def backtest(site: Site, caller: Caller, *arguments: str) -> dict[str, Any]:
    return site.gateway.manage("backtest_rules", "--key", caller.key_id, "--list", *arguments)


def refused_ids(answer: dict[str, Any]) -> list[str]:
    return [call["id"] for call in answer["refused_calls"]]


def test_it_refuses_the_calls_that_the_limit_refused(site: Site, caller: Caller) -> None:
    proposed = f"--key {caller.key_id} --metric requests --maximum 3 --period day"
    rule_id = limit(site, caller, "--metric", "requests", "--maximum", "3", *A_DAY)
    made = [caller.ask(max_tokens=5) for _ in range(5)]
    site.records(caller, count=5)

    under_it = backtest(site, caller, "--current")
    site.gateway.manage("remove_limit_rule", rule_id)
    without = backtest(site, caller, "--set", f"{proposed} --enabled")
    wider = backtest(site, caller, "--set", proposed.replace(" 3 ", " 4 "))

    assert [call.status for call in made] == [200, 200, 200, 429, 429]
    assert (under_it["calls"], under_it["refused"], under_it["share"]) == (5, 2, 0.4)
    assert refused_ids(under_it) == [call.call_id for call in made[3:]]
    assert refused_ids(without) == refused_ids(under_it)
    assert refused_ids(wider) == [made[4].call_id]
    assert under_it["rules"][0]["rule_id"] == rule_id
    [hit] = under_it["rules"][0]["keys"]
    assert (hit["key_id"], hit["refused"]) == (caller.key_id, 2)


def test_tokens_that_calls_held_are_given_back_when_they_end(site: Site, caller: Caller) -> None:
    proposed = f"--key {caller.key_id} --metric tokens --maximum 700 --period day"
    gate = f"backtest-{caller.key_id}"
    with caller.begin(f"script:tokens=3&gate={gate}", max_tokens=400, stream=True) as live:
        site.running(caller, count=1)
        beside = caller.ask(max_tokens=400)
        site.upstream.open_gate(gate)
        first = live.answer()
    site.record(first.call_id)
    after = caller.ask(max_tokens=400)
    site.records(caller, count=3)

    answer = backtest(site, caller, "--set", proposed)

    assert (beside.status, after.status) == (200, 200)
    assert refused_ids(answer) == [beside.call_id]
    assert (answer["calls"], answer["rules"][0]["refused"]) == (3, 1)


def test_a_slow_upload_is_no_part_of_what_a_call_held(site: Site, caller: Caller) -> None:
    body = {"model": caller.model, "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}

    def upload() -> Iterator[bytes]:
        whole = json.dumps(body).encode()
        yield whole[:20]
        time.sleep(2)
        yield whole[20:]

    uploaded, after = caller.ask(raw=upload()), caller.ask(max_tokens=5)
    site.records(caller, count=2)
    one_slot = f"--key {caller.key_id} --metric concurrent_requests --maximum 1"

    answer = backtest(site, caller, "--set", one_slot)

    assert (uploaded.status, after.status) == (200, 200)
    assert (answer["calls"], answer["queued"]) == (2, 0)


def test_calls_beyond_the_slots_wait_as_they_would_have(site: Site, caller: Caller) -> None:
    gate = f"slots-{caller.key_id}"
    with caller.begin(f"script:tokens=3&gate={gate}", max_tokens=5, stream=True) as live:
        site.running(caller, count=1)
        beside = caller.ask(max_tokens=5)
        site.upstream.open_gate(gate)
        live.answer()
    site.records(caller, count=2)
    one_slot = f"--key {caller.key_id} --metric concurrent_requests --maximum 1"

    answer = backtest(site, caller, "--set", one_slot)

    assert beside.status == 200
    assert (answer["refused"], answer["queued"]) == (0, 1)
    assert answer["longest_wait_s"] > 0
    assert caller.ask(max_tokens=5).status == 200  # nothing of this binds anybody


@pytest.fixture
def visitor(site: Site, caller: Caller) -> Visitor:
    """An owner of the caller's workspace, without JavaScript."""
    email = f"owner@{caller.workspace_id}.example"
    wishes = {"email": email, "password": PASSWORD, "role": "owner"}
    site.office.do("person", workspace_id=caller.workspace_id, **wishes)
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(email)
    return visitor


def test_the_form_tries_a_limit_and_does_not_set_it(
    site: Site, caller: Caller, visitor: Visitor
) -> None:
    for _ in range(4):
        assert caller.ask(max_tokens=5).status == 200
    site.records(caller, count=4)
    path = f"{visitor.workspace}/limits/new"
    form = {"holder": "key:each", "metric": "requests", "maximum": "3", "period": "hour"}
    form |= {"algorithm": "rolling", "try": "on"}

    status = visitor.post(path, form)
    tried = visitor.text
    none = visitor.post(path, form | {"maximum": "100"})
    page = visitor.text
    wrong = visitor.post(path, form | {"maximum": "0"})

    assert (status, none, wrong) == (200, 200, 422)
    assert "<strong>1 of 4 calls</strong>" in tried
    assert 'name="maximum" value="3"' in tried
    assert "<strong>none of 4 calls</strong>" in page
    assert "Enter a whole number of requests from 1" in visitor.text
    listed = site.gateway.manage("list_limit_rules", "--workspace", caller.workspace_id)
    assert listed == {"limits": []}


def test_the_form_tries_a_change_of_a_limit(site: Site, caller: Caller, visitor: Visitor) -> None:
    rule_id = limit(site, caller, "--metric", "requests", "--maximum", "9", "--period", "hour")
    for _ in range(3):
        assert caller.ask(max_tokens=5).status == 200
    site.records(caller, count=3)

    status = visitor.post(f"{visitor.workspace}/limits/{rule_id}", {"maximum": "1", "try": "on"})

    assert (status, "<strong>2 of 3 calls</strong>" in visitor.text) == (200, True)
    [still] = site.gateway.manage("list_limit_rules", "--key", caller.key_id)["limits"]
    assert (still["maximum"], still["enabled"]) == (9, True)
