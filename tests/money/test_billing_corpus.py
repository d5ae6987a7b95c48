"""What is estimated is within 5 % of what the provider counted, and no bound is passed."""

from __future__ import annotations

import pytest

from tests.flows.conftest import site  # noqa: F401 (a fixture)
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.money.billing_corpus import answers, measure_answers, measure_prompts, prompts
from tests.support.proofs import sample
from tests.support.texts import TEXTS

MOST_OFF = 0.05


@pytest.mark.proof
def test_prompts_of_callers_that_leave(site: Site) -> None:  # noqa: F811
    lines = list(measure_prompts(site, sample(prompts(), step=3)))

    assert [str(line) for line in lines if line.error > MOST_OFF] == []
    assert [str(line) for line in lines if line.bound < line.theirs] == []


@pytest.mark.proof
def test_answers_of_callers_that_leave(site: Site) -> None:  # noqa: F811
    lines = list(measure_answers(site, sample(answers(), step=3)))

    assert [str(line) for line in lines if line.error > MOST_OFF] == []


@pytest.mark.parametrize("kind", ["digits", "base64"])
def test_a_prompt_that_is_many_tokens_for_its_length_is_held_and_charged(
    site: Site,  # noqa: F811
    kind: str,
) -> None:
    text = "5 " * 50_000 if kind == "digits" else TEXTS[kind] * 4
    caller = site.caller(credit_nusd=10 * NUSD_PER_USD)
    messages = [{"role": "user", "content": one} for one in (text, "script:counts=o200k")]

    answer = caller.ask(messages=messages, max_tokens=10)

    record = site.record(answer.call_id)
    [try_] = site.tries(answer.call_id)
    price_nusd = try_["prompt_tokens"] * INPUT_NUSD + 10 * OUTPUT_NUSD
    assert try_["prompt_tokens"] > len(text) * 0.6
    assert (record["charge_nusd"], record["absorbed_nusd"]) == (price_nusd, 0)
    assert record["hold_nusd"] >= price_nusd


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_answers_without_usage_are_estimated_alike(site: Site, stream: bool) -> None:  # noqa: F811
    caller = site.caller(credit_nusd=10 * NUSD_PER_USD)
    messages = [
        {"role": "user", "content": TEXTS["json"]},
        {"role": "user", "content": "script:counts=o200k&says=mixed&usage=none&per_event=3"},
    ]

    answer = caller.ask(messages=messages, max_tokens=2_000, stream=stream)

    record = site.record(answer.call_id)
    [try_] = site.tries(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "estimate")
    assert record["prompt_tokens"] == pytest.approx(try_["prompt_tokens"], rel=MOST_OFF)
    assert record["completion_tokens"] == pytest.approx(2_000, rel=MOST_OFF)
