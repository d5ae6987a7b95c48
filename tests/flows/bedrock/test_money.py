"""What calls over Converse cost, to the nano-USD."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.flows.bedrock.conftest import NATIVE, NOVA
from tests.flows.caller import Caller, LiveCall
from tests.flows.dialect_checks import (
    CACHED_NUSD,
    HOUR_NUSD,
    WAYS_TO_LEAVE,
    WRITTEN_NUSD,
    assert_cache_is_paid,
    assert_estimated,
    assert_leaver_pays,
    assert_paid,
)
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH


@pytest.fixture(scope="session")
def cached_model(bedrock_site: Site) -> str:
    return bedrock_site.add_model(
        "bedrock-cached",
        provider="bedrock",
        native_model=NATIVE[NOVA],
        cached_input_pusd=CACHED_NUSD * 1000,
        unit_prices={"cache_write": WRITTEN_NUSD * 1000, "cache_write_1h": HOUR_NUSD * 1000},
    )


@both_transports
@BOTH
def test_a_call_costs_its_input_and_its_output(
    bedrock_site: Site, bedrock: Caller, stream: bool
) -> None:
    answer = bedrock.ask("script:tokens=7&reasoning=2", stream=stream, max_tokens=50)

    assert_paid(bedrock_site, bedrock, answer, {"prompt": 1, "completion": 9})


@BOTH
@pytest.mark.parametrize(("cached", "written"), [(0, 0), (300, 0), (0, 200), (300, 200)])
def test_the_cache_has_prices_of_its_own(
    bedrock_site: Site, cached_model: str, cached: int, written: int, stream: bool
) -> None:
    caller = bedrock_site.caller().with_(model=cached_model)
    assert_cache_is_paid(bedrock_site, caller, cached=cached, written=written, stream=stream)


@BOTH
def test_what_is_cached_for_an_hour_has_a_price_of_its_own(
    bedrock_site: Site, cached_model: str, stream: bool
) -> None:
    caller = bedrock_site.caller().with_(model=cached_model)
    script = "script:tokens=4&cache_written=200&cache_written_1h=50"
    said = [{"role": "system", "content": "word " * 999}, {"role": "user", "content": script}]

    answer = caller.ask(messages=said, stream=stream)

    record = bedrock_site.record(answer.call_id)
    counts = {name: unit["count"] for name, unit in record["units"].items()}
    assert counts == {"cache_write": 150, "cache_write_1h": 50}
    input_nusd = 800 * INPUT_NUSD + 150 * WRITTEN_NUSD + 50 * HOUR_NUSD
    assert record["charge_nusd"] == input_nusd + 4 * OUTPUT_NUSD


@BOTH
@pytest.mark.parametrize(
    "usage", ["none", "wrong:-5", 'wrong:"12"', "wrong:null", "raw:{}", "raw:7", "wrong:1e18"]
)
def test_counts_that_make_no_sense_are_estimated(
    bedrock_site: Site, bedrock: Caller, usage: str, stream: bool
) -> None:
    assert_estimated(bedrock_site, bedrock, usage=usage, stream=stream)


@both_transports
@WAYS_TO_LEAVE
def test_a_caller_that_leaves_pays_for_what_was_made(
    bedrock_site: Site, bedrock: Caller, leave: Callable[[LiveCall], None]
) -> None:
    assert_leaver_pays(bedrock_site, bedrock, leave)
