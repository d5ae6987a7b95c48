"""What calls over the Messages API cost, to the nano-USD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.flows.anthropic.conftest import BUDGETED, NATIVE
from tests.flows.asking import ECHO
from tests.flows.caller import Caller, LiveCall
from tests.flows.dialect_checks import (
    CACHED_NUSD,
    CLOSED_WITHIN_S,
    HOUR_NUSD,
    WAYS_TO_LEAVE,
    WRITTEN_NUSD,
    assert_cache_is_paid,
    assert_estimated,
    assert_leaver_pays,
    assert_paid,
)
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.transports import TRANSPORTS, both_transports, named
from tests.flows.whole_message import BOTH


@pytest.fixture(scope="session")
def cached_models(claude_site: Site) -> dict[str, str]:
    """The model of each transport that has prices of its own for what is read from the cache and
    written to it."""
    return {
        transport: claude_site.add_model(
            named("claude-cached", transport),
            provider=named("claude", transport),
            native_model=NATIVE[BUDGETED],
            cached_input_pusd=CACHED_NUSD * 1000,
            unit_prices={"cache_write": WRITTEN_NUSD * 1000, "cache_write_1h": HOUR_NUSD * 1000},
        )
        for transport in TRANSPORTS
    }


@both_transports
@BOTH
def test_a_call_costs_its_input_and_its_output(
    claude_site: Site, claude: Caller, stream: bool
) -> None:
    answer = claude.ask("script:tokens=7&reasoning=2", stream=stream, max_tokens=50)

    assert_paid(claude_site, claude, answer, {"prompt": 1, "completion": 9, "reasoning": 2})


@both_transports
@BOTH
@pytest.mark.parametrize(("cached", "written"), [(0, 0), (300, 0), (0, 200), (300, 200)])
def test_the_cache_has_prices_of_its_own(
    claude_site: Site,
    claude: Caller,
    cached_models: dict[str, str],
    transport: str,
    cached: int,
    written: int,
    stream: bool,
) -> None:
    caller = claude.with_(model=cached_models[transport])
    answer = assert_cache_is_paid(
        claude_site, caller, cached=cached, written=written, stream=stream
    )

    units = {"cache_write": {"count": written, "pusd": WRITTEN_NUSD * 1000}} if written else None
    assert claude_site.record(answer.call_id)["units"] == units
    usage = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert usage["prompt_tokens"] == 1000
    assert usage["prompt_tokens_details"].get("cache_write_tokens", 0) == written


@both_transports
@BOTH
@pytest.mark.parametrize(("written", "for_an_hour"), [(200, 200), (200, 50)])
def test_what_is_cached_for_an_hour_has_a_price_of_its_own(
    claude_site: Site,
    claude: Caller,
    cached_models: dict[str, str],
    transport: str,
    written: int,
    for_an_hour: int,
    stream: bool,
) -> None:
    caller = claude.with_(model=cached_models[transport])
    script = f"script:tokens=4&cache_written={written}&cache_written_1h={for_an_hour}"
    said = [{"role": "system", "content": "word " * 999}, {"role": "user", "content": script}]

    answer = caller.ask(messages=said, stream=stream)

    assert answer.status == 200, answer.body
    record = claude_site.record(answer.call_id)
    assert (record["charge_basis"], record["prompt_tokens"]) == ("usage", 1000)
    counts = {name: unit["count"] for name, unit in record["units"].items()}
    assert counts.pop("cache_write_1h") == for_an_hour
    assert counts == ({"cache_write": written - for_an_hour} if written > for_an_hour else {})
    input_nusd = (1000 - written) * INPUT_NUSD + for_an_hour * HOUR_NUSD
    input_nusd += (written - for_an_hour) * WRITTEN_NUSD
    assert record["charge_nusd"] == input_nusd + 4 * OUTPUT_NUSD
    usage = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert usage["prompt_tokens_details"]["cache_write_tokens"] == written


def test_the_hold_covers_a_prompt_that_is_cached_for_an_hour(
    claude_site: Site, claude: Caller, cached_models: dict[str, str]
) -> None:
    caller = claude.with_(model=cached_models[TRANSPORTS[0]])
    script = "script:tokens=1&cache_written=1000&cache_written_1h=1000"
    said = [{"role": "system", "content": "word " * 999}, {"role": "user", "content": script}]

    answer = caller.ask(messages=said, max_tokens=1)

    record = claude_site.record(answer.call_id)
    assert record["charge_nusd"] == 1000 * HOUR_NUSD + OUTPUT_NUSD
    assert record["charge_nusd"] <= record["hold_nusd"]


def test_without_a_price_a_cache_write_costs_what_input_does(
    claude_site: Site, claude: Caller
) -> None:
    answer = claude.ask(
        messages=[
            {"role": "system", "content": "a b c"},
            {"role": "user", "content": "script:tokens=1&cache_written=3"},
        ]
    )

    record = claude_site.record(answer.call_id)
    assert record["charge_nusd"] == 4 * INPUT_NUSD + OUTPUT_NUSD


@BOTH
@pytest.mark.parametrize(
    "usage", ["none", "wrong:-5", 'wrong:"12"', "wrong:null", "raw:{}", "raw:7", "wrong:1e18"]
)
def test_counts_that_make_no_sense_are_estimated(
    claude_site: Site, claude: Caller, usage: str, stream: bool
) -> None:
    assert_estimated(claude_site, claude, usage=usage, stream=stream)


@both_transports
@WAYS_TO_LEAVE
def test_a_caller_that_leaves_pays_for_what_was_made(
    claude_site: Site, claude: Caller, leave: Callable[[LiveCall], None]
) -> None:
    charge_nusd = assert_leaver_pays(claude_site, claude, leave)

    assert_free(claude, NUSD_PER_USD - charge_nusd)


@both_transports
@BOTH
def test_a_caller_that_leaves_before_the_answer_pays_the_prompt(
    claude_site: Site, claude: Caller, stream: bool
) -> None:
    said = [{"role": "user", "content": text} for text in ("word " * 300, "script:hang")]
    call = claude.begin(messages=said, stream=stream)
    [running] = claude_site.running(claude, count=1)
    claude_site.wait_for_try(str(running["id"]), state="running")

    call.leave()

    claude_site.wait_for_try(str(running["id"]), state="cancelled", within_s=CLOSED_WITHIN_S)
    record = claude_site.record(str(running["id"]))
    assert (record["status"], record["completion_tokens"]) == ("cancelled", 0)
    assert record["charge_nusd"] == record["prompt_tokens"] * INPUT_NUSD
    assert_free(claude, NUSD_PER_USD - record["charge_nusd"])


def assert_free(caller: Caller, balance_nusd: int) -> None:
    """Assert that no call of the workspace holds anything: nearly all of it can be held again."""
    limit = balance_nusd // OUTPUT_NUSD - 100
    answer = caller.ask(messages=[ECHO], max_tokens=min(limit, 16_384))
    body: Any = answer.echo["body_text"]
    assert f'"max_tokens":{min(limit, 16_384)}' in body
