"""What calls over the Gemini API cost, to the nano-USD."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.flows.caller import Caller, LiveCall
from tests.flows.dialect_checks import (
    CACHED_NUSD,
    WAYS_TO_LEAVE,
    assert_cache_is_paid,
    assert_estimated,
    assert_leaver_pays,
    assert_paid,
)
from tests.flows.gemini.conftest import FLASH, NATIVE
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH


@both_transports
@BOTH
@pytest.mark.parametrize("thoughts", [{}, {"reasoning_effort": "high"}], ids=["silent", "told"])
def test_thoughts_are_output_whether_they_are_told_or_not(
    gemini_site: Site, gemini: Caller, stream: bool, thoughts: dict[str, str]
) -> None:
    answer = gemini.ask("script:tokens=7&reasoning=2", stream=stream, **thoughts)

    assert answer.status == 200, answer.body
    assert_paid(gemini_site, gemini, answer, {"prompt": 1, "completion": 9, "reasoning": 2})


@BOTH
def test_what_the_providers_own_tools_read_is_prompt(
    gemini_site: Site, gemini: Caller, stream: bool
) -> None:
    counts = '{"promptTokenCount":10,"toolUsePromptTokenCount":5,"candidatesTokenCount":2}'

    answer = gemini.ask(f"script:tokens=2&usage=raw:{counts}", stream=stream)

    record = gemini_site.record(answer.call_id)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (15, 2)
    assert record["charge_nusd"] == 15 * INPUT_NUSD + 2 * OUTPUT_NUSD


@both_transports
@BOTH
def test_what_is_cached_has_a_price_of_its_own(
    gemini_site: Site, gemini: Caller, stream: bool, transport: str
) -> None:
    name = gemini_site.add_model(
        f"gemini-cached-{transport}-{stream}",
        provider="gemini",
        native_model=NATIVE[FLASH],
        cached_input_pusd=CACHED_NUSD * 1000,
    )

    assert_cache_is_paid(gemini_site, gemini.with_(model=name), cached=300, stream=stream)


@BOTH
@pytest.mark.parametrize(
    "usage", ["none", "null", "wrong:-5", 'wrong:"12"', "raw:{}", "raw:7", "wrong:1e18"]
)
def test_counts_that_make_no_sense_are_estimated(
    gemini_site: Site, gemini: Caller, usage: str, stream: bool
) -> None:
    assert_estimated(gemini_site, gemini, usage=usage, stream=stream)


@both_transports
@WAYS_TO_LEAVE
def test_a_caller_that_leaves_pays_for_what_was_made(
    gemini_site: Site, gemini: Caller, leave: Callable[[LiveCall], None]
) -> None:
    assert_leaver_pays(gemini_site, gemini, leave)
