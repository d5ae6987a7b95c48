"""Money under whole calls: what is held, what is charged, and what never may be."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.support.waiting import wait_for_a_day_that_lasts, wait_until

# A second is promised, and a busy machine has its time.
SEEN_WITHIN_S = 20
TOKENS = 10


@pytest.fixture(scope="session")
def output_model(site: Site) -> str:
    """A model whose prompts are free: a call of a known length costs what it held."""
    return site.add_model("output-model", input_pusd=0)


def ask_at_once(caller: Caller, calls: int, **options: Any) -> list[Answer]:
    """Send so many calls before any answer is read."""
    live = [caller.begin(**options) for _ in range(calls)]
    return [call.answer() for call in live]


def code_of(answer: Answer) -> str:
    """Return the code of a refusal, empty for an answer."""
    return str(answer.json.get("error", {}).get("code", ""))


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_ten_of_two_hundred_calls_succeed_when_the_balance_covers_ten(
    site: Site, output_model: str, stream: bool
) -> None:
    caller = site.caller(credit_nusd=10 * TOKENS * OUTPUT_NUSD).with_(model=output_model)

    answers = ask_at_once(
        caller, 200, prompt="script:first_ms=300", max_tokens=TOKENS, stream=stream
    )

    statuses = [answer.status for answer in answers]
    assert (statuses.count(200), statuses.count(402)) == (10, 190)
    records = site.records(caller, count=200)
    counted: Counter[str] = Counter()
    for record in records:
        counted[record["status"]] += record["counted_calls"]
    assert counted == {"ok": 10, "refused": 190}
    assert sum(record["charge_nusd"] for record in records) == 10 * TOKENS * OUTPUT_NUSD
    assert site.balance_nusd(caller) == 0
    assert caller.ask(max_tokens=1).status == 402


def test_what_calls_leave_of_their_holds_is_free_at_once(site: Site, output_model: str) -> None:
    caller = site.caller(credit_nusd=100 * TOKENS * OUTPUT_NUSD).with_(model=output_model)

    answers = [caller.ask(max_tokens=100 * TOKENS - TOKENS * n) for n in range(100)]

    assert {answer.status for answer in answers} == {200}
    assert {answer.json["choices"][0]["finish_reason"] for answer in answers} <= {"stop", "length"}
    assert caller.ask().status == 402


def test_charges_of_many_calls_at_once_add_up(site: Site) -> None:
    caller = site.caller()

    threads = [
        threading.Thread(target=ask_at_once, args=(caller, 25), kwargs={"max_tokens": n + 1})
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    records = site.records(caller, count=200)
    spent_nusd = sum(record["charge_nusd"] for record in records)
    assert spent_nusd == sum(25 * (2 * INPUT_NUSD + (n + 1) * OUTPUT_NUSD) for n in range(8))
    assert site.balance_nusd(caller) == NUSD_PER_USD - spent_nusd


def test_a_call_keeps_the_price_it_was_admitted_at(site: Site) -> None:
    model = site.add_model("moving-model")
    caller = site.caller().with_(model=model)
    call = caller.begin(f"script:tokens=10&stall_after=5&gate={model}", stream=True)
    call.wait_for_tokens(3)

    site.office.do("set_prices", model=model, input_pusd=0, output_pusd=50 * 10**6)
    wait_until(
        lambda: caller.ask().json["usage"]["cost"] == 10 * 50_000 / NUSD_PER_USD,
        within_s=SEEN_WITHIN_S,
        what="the new price",
    )
    site.upstream.open_gate(model)
    answer = call.answer()

    assert answer.chunks[-1]["usage"]["cost"] == (INPUT_NUSD + 10 * OUTPUT_NUSD) / NUSD_PER_USD


ABSURD = (
    *("wrong:1000", "wrong:999999999", "wrong:9007199254740992", "wrong:1000000000000000000"),
    *("wrong:99999999999999999999999", "wrong:-1", "wrong:null", 'wrong:"12"', "wrong:1.5"),
    *("wrong:true", "wrong:1e3", "wrong:[]", "none", "null", "zero", "raw:[]", 'raw:"x"', "raw:{}"),
    'raw:{"prompt_tokens":9007199254740992,"completion_tokens":9007199254740992}',
    'raw:{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":9}}',
    'raw:{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":7}',
    'raw:{"prompt_tokens":0,"completion_tokens":0,"completion_tokens_details":'
    '{"reasoning_tokens":99}}',
)


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("usage", ABSURD)
def test_whatever_usage_is_reported_the_charge_stays_within_price_and_balance(
    site: Site, usage: str, stream: bool
) -> None:
    caller = site.caller(credit_nusd=NUSD_PER_USD // 100)

    answer = caller.ask(f"script:usage={usage}", max_tokens=TOKENS, stream=stream)

    assert answer.status == 200
    assert answer.text == "".join(f"tok{n} " for n in range(10))
    record = site.record(answer.call_id)
    assert record["status"] == "ok"
    assert 0 <= record["charge_nusd"] <= NUSD_PER_USD // 100
    tokens = (record["prompt_tokens"], record["completion_tokens"])
    price_nusd = tokens[0] * INPUT_NUSD + tokens[1] * OUTPUT_NUSD
    assert record["charge_nusd"] + record["absorbed_nusd"] == price_nusd
    assert site.balance_nusd(caller) == NUSD_PER_USD // 100 - record["charge_nusd"]


def test_what_a_provider_counts_beyond_the_hold_is_charged(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:usage=wrong:1000", max_tokens=TOKENS)

    record = site.record(answer.call_id)
    assert record["charge_nusd"] == INPUT_NUSD + 1000 * OUTPUT_NUSD > record["hold_nusd"]
    assert record["absorbed_nusd"] == 0
    assert answer.json["usage"]["cost"] == record["charge_nusd"] / NUSD_PER_USD
    assert site.balance_nusd(caller) == NUSD_PER_USD - record["charge_nusd"]


def test_what_a_call_costs_beyond_the_balance_is_on_us(site: Site) -> None:
    caller = site.caller(credit_nusd=300 * OUTPUT_NUSD)

    answer = caller.ask("script:usage=wrong:1000", max_tokens=TOKENS)

    record = site.record(answer.call_id)
    assert record["charge_nusd"] == 300 * OUTPUT_NUSD
    assert record["absorbed_nusd"] == INPUT_NUSD + 700 * OUTPUT_NUSD
    assert site.balance_nusd(caller) == 0
    assert caller.ask().json["error"]["code"] == "insufficient_credits"


def test_a_count_that_cannot_be_empties_no_wallet(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:usage=wrong:999999999", max_tokens=TOKENS)

    record = site.record(answer.call_id)
    assert record["hold_nusd"] < record["charge_nusd"] < NUSD_PER_USD // 20
    assert site.balance_nusd(caller) > NUSD_PER_USD * 19 // 20


def test_a_key_that_keeps_costing_more_than_the_balance_is_refused_for_the_day(
    site: Site,
) -> None:
    wait_for_a_day_that_lasts()
    model = site.add_model("lossy-model", input_pusd=0, output_pusd=10**9)  # 0.001 USD a token
    caller = site.caller(credit_nusd=NUSD_PER_USD // 20).with_(model=model)
    answer = caller.ask("script:usage=wrong:2000", max_tokens=TOKENS)
    record = site.record(answer.call_id)
    assert record["charge_nusd"] == NUSD_PER_USD // 20
    assert record["absorbed_nusd"] == 2 * NUSD_PER_USD - NUSD_PER_USD // 20

    site.office.do("grant", workspace_id=caller.workspace_id, amount_nusd=NUSD_PER_USD)

    wait_until(
        lambda: code_of(caller.ask(max_tokens=1)) == "key_loss_limit_exceeded",
        within_s=SEEN_WITHIN_S,
        what="the refusal",
    )
    refused = caller.ask(max_tokens=1)
    assert refused.status == 402
    assert refused.json["error"]["details"]["resets_at"].endswith("T00:00:00+00:00")
    other = site.another_key(caller.workspace_id).with_(model=model)
    assert other.ask(max_tokens=1).status == 200


def test_tokens_from_a_cache_have_their_own_price(site: Site) -> None:
    model = site.add_model("cached-model", cached_input_pusd=100_000)

    prompt = [{"role": "user", "content": text} for text in ("a b c d e", "script:cached=4")]

    answer = site.caller().with_(model=model).ask(messages=prompt)

    assert answer.json["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    cost_nusd = 2 * INPUT_NUSD + 4 * INPUT_NUSD // 10 + 10 * OUTPUT_NUSD
    assert site.record(answer.call_id)["charge_nusd"] == cost_nusd


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_tokens_written_to_a_cache_have_their_own_price(site: Site, stream: bool) -> None:
    name = f"cache-writing-model-{stream}"
    model = site.add_model(name, unit_prices={"cache_write": 1_250_000, "image": 40_000_000_000})
    caller = site.caller().with_(model=model)
    details = '"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":400}'
    usage = f'{{"prompt_tokens":1000,"completion_tokens":10,{details}}}'

    answer = caller.ask(f"script:usage=raw:{usage}", stream=stream)

    told = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert told["prompt_tokens_details"] == {"cached_tokens": 100, "cache_write_tokens": 400}
    cost_nusd = 600 * INPUT_NUSD + 400 * INPUT_NUSD * 5 // 4 + 10 * OUTPUT_NUSD
    record = site.record(answer.call_id)
    assert record["charge_nusd"] + record["absorbed_nusd"] == cost_nusd
    assert record["units"] == {"cache_write": {"count": 400, "pusd": 1_250_000}}
    path = f"/v1/generation?id={answer.call_id}"
    generation = caller.ask(path=path, method="GET").json["data"]
    assert generation["other_units"] == {"cache_write": 400}
    models = caller.ask(path="/v1/models", method="GET").json["data"]
    [pricing] = [one["pricing"] for one in models if one["id"] == model]
    assert pricing["cache_write"] == 1.25
    assert pricing["other_units"] == [{"unit": "image", "price": 0.04, "per": "image"}]


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_an_answer_without_a_token_costs_nothing(site: Site, caller: Caller, stream: bool) -> None:
    answer = caller.ask("script:tokens=0", stream=stream)

    assert answer.status == 200
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "zero_empty")
    assert record["charge_nusd"] == 0


def test_a_grant_is_seen_within_a_second(site: Site) -> None:
    caller = site.caller(credit_nusd=0)
    assert caller.ask().status == 402

    site.office.do("grant", workspace_id=caller.workspace_id, amount_nusd=NUSD_PER_USD)

    wait_until(lambda: caller.ask().status == 200, within_s=SEEN_WITHIN_S, what="the grant")


def test_a_grant_is_seen_while_refusals_go_on(site: Site) -> None:
    caller = site.caller(credit_nusd=0)
    refused = ask_at_once(caller, 50)

    site.office.do("grant", workspace_id=caller.workspace_id, amount_nusd=NUSD_PER_USD)

    assert {answer.status for answer in refused} == {402}
    wait_until(
        lambda: {answer.status for answer in ask_at_once(caller, 10)} == {200},
        within_s=SEEN_WITHIN_S,
        what="the grant",
    )


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_free_model_needs_no_money(site: Site, stream: bool) -> None:
    caller = site.caller(credit_nusd=0).with_(model="free-model")

    answer = caller.ask(stream=stream)

    assert answer.status == 200
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert (record["hold_nusd"], record["charge_nusd"]) == (0, 0)


def test_a_failure_gives_the_whole_hold_back(site: Site) -> None:
    credit_nusd = NUSD_PER_USD // 1000
    caller = site.caller(credit_nusd=credit_nusd)

    for script in ("fail=500", "fail=429", "drop=reset", "fail=401"):
        assert caller.ask(f"script:{script}").status >= 429
        assert caller.stream(f"script:{script}").status >= 429
    assert "error" in caller.stream("script:reset_after=3").chunks[-1]

    site.assert_free(caller, credit_nusd)
