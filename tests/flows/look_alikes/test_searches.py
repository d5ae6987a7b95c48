"""What Perplexity's models count beside tokens is charged at prices of its own."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.flows.caller import Caller
from tests.flows.look_alikes.conftest import LookAlikes
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD

RESEARCH_NUSD, SEARCH_NUSD = 3 * 10**3, 5 * 10**6
COUNTS = {"prompt_tokens": 33, "completion_tokens": 7163, "total_tokens": 7196}
DEEP = COUNTS | {"citation_tokens": 20016, "num_search_queries": 18, "reasoning_tokens": 73410}
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture
def sonar(look_alikes: LookAlikes) -> Caller:
    look_alikes.caller("perplexity")  # it adds the provider
    name = "sonar-that-searches"
    prices = {"research": RESEARCH_NUSD * 1000, "search": SEARCH_NUSD * 1000}
    look_alikes.site.add_model(name, provider="like-perplexity", unit_prices=prices)
    return look_alikes.site.caller(credit_nusd=10**11).with_(model=name)


@BOTH
@pytest.mark.parametrize(
    ("usage", "searches"),
    [
        (DEEP, 18),
        (COUNTS | {"search_context_size": "low"}, 1),
        (COUNTS | {"search_context_size": "low", "cost": {"request_cost": 0.005}}, 1),
        (COUNTS | {"search_context_size": "low", "cost": {"request_cost": 0}}, 0),
        (COUNTS | {"search_context_size": "low", "num_search_queries": None}, 1),
        (COUNTS | {"search_context_size": "low", "num_search_queries": -1}, 0),
        (COUNTS, 0),
    ],
    ids=["deep research", "a fee", "a fee that is told", "no fee", "null", "nonsense", "no search"],
)
def test_searches_and_what_is_read_and_thought_are_paid(
    look_alikes: LookAlikes, sonar: Caller, usage: dict[str, Any], searches: int, stream: bool
) -> None:
    script = {"tokens": 3, "usage": f"raw:{json.dumps(usage)}"}

    answer = sonar.ask(f"script:{urlencode(script)}", stream=stream)

    record = look_alikes.site.record(answer.call_id)
    read, thought = usage.get("citation_tokens", 0), usage.get("reasoning_tokens", 0)
    assert record["prompt_tokens"] == 33 + read
    assert record["completion_tokens"] == 7163 + thought
    assert record["charge_nusd"] == (
        (33 + read) * INPUT_NUSD
        + 7163 * OUTPUT_NUSD
        + thought * RESEARCH_NUSD
        + searches * SEARCH_NUSD
    )


def test_a_call_needs_the_price_of_a_search(look_alikes: LookAlikes, sonar: Caller) -> None:
    poor = look_alikes.site.caller(credit_nusd=SEARCH_NUSD).with_(model=sonar.model)
    enough = look_alikes.site.caller(credit_nusd=2 * SEARCH_NUSD).with_(model=sonar.model)

    refused = poor.ask("hello", max_tokens=3)
    answer = enough.ask("script:tokens=3&searched=1", max_tokens=3)

    assert (refused.status, refused.error["code"]) == (402, "insufficient_credits")
    assert answer.status == 200
    record = look_alikes.site.record(answer.call_id)
    assert record["charge_nusd"] > SEARCH_NUSD
    assert record["absorbed_nusd"] == 0


def test_long_research_for_a_short_answer_is_paid(look_alikes: LookAlikes, sonar: Caller) -> None:
    script = "script:tokens=3&searched=21&cited=19028&researched=193947"

    answer = sonar.ask(script, max_tokens=5)

    record = look_alikes.site.record(answer.call_id)
    [entry] = look_alikes.site.tries(answer.call_id)
    assert record["charge_nusd"] == (
        entry["prompt_tokens"] * INPUT_NUSD
        + 3 * OUTPUT_NUSD
        + 193947 * RESEARCH_NUSD
        + 21 * SEARCH_NUSD
    )
    assert record["absorbed_nusd"] == 0


def test_a_stream_that_repeats_what_it_found_comes_to_its_end(sonar: Caller) -> None:
    answer = sonar.stream("script:tokens=300&found_bytes=20000")

    assert answer.text == "".join(f"tok{number} " for number in range(300))
    assert answer.events[-1] == "[DONE]"
