"""What calls over the Messages API cost, to the nano-USD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.flows.anthropic.asking import ECHO
from tests.flows.anthropic.conftest import BUDGETED, NATIVE
from tests.flows.caller import Caller, LiveCall
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.transports import TRANSPORTS, both_transports, named

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
CACHED_NUSD, WRITTEN_NUSD = 100, 1_250
CLOSED_WITHIN_S = 20
HOW: dict[str, Callable[[LiveCall], None]] = {"FIN": LiveCall.leave, "RST": LiveCall.reset}


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
            unit_prices={"cache_write": WRITTEN_NUSD * 1000},
        )
        for transport in TRANSPORTS
    }


@both_transports
@BOTH
def test_a_call_costs_its_input_and_its_output(
    claude_site: Site, claude: Caller, stream: bool
) -> None:
    answer = claude.ask("script:tokens=7&reasoning=2", stream=stream, max_tokens=50)

    record = claude_site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    counts = {name: record[f"{name}_tokens"] for name in ("prompt", "completion", "reasoning")}
    assert counts == {"prompt": 1, "completion": 9, "reasoning": 2}
    assert record["charge_nusd"] == INPUT_NUSD + 9 * OUTPUT_NUSD
    assert claude_site.balance_nusd(claude) == NUSD_PER_USD - record["charge_nusd"]


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
    script = f"script:tokens=4&cached={cached}&cache_written={written}"
    said = [{"role": "system", "content": "word " * 999}, {"role": "user", "content": script}]

    answer = caller.ask(messages=said, stream=stream)

    assert answer.status == 200, answer.body
    record = claude_site.record(answer.call_id)
    assert record["charge_basis"] == "usage"
    assert (record["prompt_tokens"], record["cached_tokens"]) == (1000, cached)
    fresh = 1000 - cached - written
    input_nusd = fresh * INPUT_NUSD + cached * CACHED_NUSD + written * WRITTEN_NUSD
    assert record["charge_nusd"] == input_nusd + 4 * OUTPUT_NUSD
    units = {"cache_write": {"count": written, "pusd": WRITTEN_NUSD * 1000}} if written else None
    assert record["units"] == units
    usage = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert usage["prompt_tokens"] == 1000
    assert usage["prompt_tokens_details"]["cached_tokens"] == cached
    assert usage["prompt_tokens_details"].get("cache_write_tokens", 0) == written


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
    answer = claude.ask(f"script:tokens=5&usage={usage}", stream=stream, max_tokens=50)

    assert answer.status == 200, answer.body
    record = claude_site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "estimate")
    assert 0 < record["charge_nusd"] < 100 * OUTPUT_NUSD


@both_transports
@pytest.mark.parametrize("leave", HOW.values(), ids=HOW)
def test_a_caller_that_leaves_pays_for_what_was_made(
    claude_site: Site, claude: Caller, leave: Callable[[LiveCall], None]
) -> None:
    call = claude.begin("script:tokens=900&delay_ms=1&stall_after=250", stream=True)
    call.wait_for_tokens(250)

    leave(call)

    tried = claude_site.wait_for_try(call.call_id, state="cancelled", within_s=CLOSED_WITHIN_S)
    record = claude_site.record(call.call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    made_nusd = tried["completion_tokens"] * OUTPUT_NUSD
    prompt_nusd = record["prompt_tokens"] * INPUT_NUSD
    assert record["charge_nusd"] - prompt_nusd == pytest.approx(made_nusd, rel=0.05)
    assert_free(claude, NUSD_PER_USD - record["charge_nusd"])


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
