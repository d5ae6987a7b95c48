"""What text completions cost: both their tokens, to the nano-dollar."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.completions.asking import complete, texts
from tests.flows.completions.conftest import CHAT, TEXT
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site


@pytest.mark.parametrize("model", [TEXT, CHAT])
def test_a_balance_that_covers_less_lowers_the_limit(
    site: Site, completers: None, model: str
) -> None:
    caller = site.caller(credit_nusd=100 * OUTPUT_NUSD).with_(model=model)

    answer = complete(caller, "script:tokens=500", max_tokens=1000, n=2)

    assert answer.status == 200
    assert answer.json["choices"][0]["finish_reason"] == "length"
    assert 0 < site.record(answer.call_id)["charge_nusd"] <= 100 * OUTPUT_NUSD


def test_a_call_that_the_balance_does_not_cover_is_refused(site: Site, completers: None) -> None:
    poor = site.caller(credit_nusd=2 * INPUT_NUSD).with_(model=TEXT)

    answer = complete(poor, "a b c")

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")
    assert site.tries(answer.call_id) == []


def test_a_prompt_that_comes_back_alone_costs_the_prompt(site: Site, caller: Caller) -> None:
    answer = complete(caller, "one two three", echo=True, max_tokens=0, logprobs=1)

    assert texts(answer) == ["one two three"]
    record = site.record(answer.call_id)
    assert (record["charge_nusd"], record["charge_basis"]) == (3 * INPUT_NUSD, "usage")


@pytest.mark.parametrize("stream", [False, True])
def test_without_usage_our_own_count_is_charged(site: Site, caller: Caller, stream: bool) -> None:
    answer = complete(caller, "script:usage=none&tokens=8", stream=stream, max_tokens=9)

    record = site.record(answer.call_id)
    assert record["charge_basis"] == "estimate"
    assert record["completion_tokens"] > 0
    assert 0 < record["charge_nusd"] < NUSD_PER_USD // 1000


def test_a_caller_who_leaves_pays_for_what_was_made(site: Site, caller: Caller) -> None:
    prompt = "script:tokens=9&stall_after=4"
    body = f'{{"model":"{TEXT}","prompt":"{prompt}","stream":true}}'.encode()
    with caller.begin(path="/v1/completions", raw=body) as live:
        next(live.events())
        call_id = live.call_id
        live.leave()

    record = site.record(call_id)
    assert record["status"] == "cancelled"
    assert INPUT_NUSD <= record["charge_nusd"] < 100 * OUTPUT_NUSD
