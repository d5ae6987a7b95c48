"""What holds for the answers, the failures and the prices of every dialect.

The tests of each dialect ask for these with cases of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.whole_message import message_of

CACHED_NUSD, WRITTEN_NUSD, HOUR_NUSD = 100, 1_250, 2_000
CLOSED_WITHIN_S = 20
# The script of a refusal, and the status, the code and the Retry-After it comes to.
Refusal = tuple[str, int, str, str | None]

CUT_SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
SPELLINGS = pytest.mark.parametrize(
    "spelling", ["crlf", "cr", "nospace", "comments", "flood", "fields", "bom", "empty"]
)
BROKEN_ANSWERS = pytest.mark.parametrize(
    "fault", ["truncate", "truncate_at_byte=30", "big_bytes=70000000", "gzip"]
)
WAYS_TO_LEAVE = pytest.mark.parametrize(
    "leave", [LiveCall.leave, LiveCall.reset], ids=["FIN", "RST"]
)


def refusals(cases: Sequence[Refusal]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("refusal", cases, ids=[script for script, *_ in cases])


# Answers.


def assert_two_calls(message: dict[str, Any]) -> None:
    """Assert that a message calls the tool twice, as `tools=2` has it."""
    assert message["finish_reason"] == "tool_calls"
    first, second = message["tool_calls"]
    assert first["id"] != second["id"]
    for call in (first, second):
        assert (call["type"], call["function"]["name"]) == ("function", "look_up")
        assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


def assert_end(site: Site, caller: Caller, *, native: str, reason: str, stream: bool) -> None:
    """Assert that the provider's word for an end is told as this reason, and recorded."""
    answer = caller.ask(f"script:tokens=1&finish={native}", stream=stream)

    assert message_of(answer)["finish_reason"] == reason
    record = site.record(answer.call_id)
    assert (record["finish_reason"], record["native_finish_reason"]) == (reason, native)


# Failures.


def assert_failed(site: Site, answer: Answer) -> None:
    """Assert that a call is recorded as the provider's failure, and free."""
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_nusd"]) == ("upstream_error", 0)


def assert_refused(site: Site, caller: Caller, refusal: Refusal, *, stream: bool) -> None:
    script, status, code, retry_after = refusal

    answer = caller.ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert answer.headers.get("retry-after") == retry_after
    assert_failed(site, answer)


def assert_error_in_stream(site: Site, caller: Caller, *, reported: str, code: str) -> None:
    """Assert that an error which a stream reports is told behind what came before."""
    answer = caller.stream(f"script:tokens=5&error_after=2&code={reported}")

    *chunks, error, done = answer.events
    assert (answer.status, done) == (200, "[DONE]")
    assert error["error"]["code"] == code
    assert "tok1 " in answer.body.decode()
    assert "finish_reason" not in error
    assert len(chunks) >= 2
    assert_failed(site, answer)


def assert_broken_stream(site: Site, caller: Caller, fault: str) -> None:
    answer = caller.stream(f"script:tokens=4&{fault}")

    assert answer.events[-1] == "[DONE]"
    assert answer.events[-2]["error"]["code"] == "provider_unavailable"
    assert_failed(site, answer)


def assert_broken_answer(caller: Caller, fault: str) -> None:
    answer = caller.ask(f"script:{fault}")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")


# Prices.


def assert_paid(site: Site, caller: Caller, answer: Answer, counts: dict[str, int]) -> None:
    """Assert that the caller's first call has these tokens, and costs what they do."""
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert {name: record[f"{name}_tokens"] for name in counts} == counts
    cost = counts["prompt"] * INPUT_NUSD + counts["completion"] * OUTPUT_NUSD
    assert record["charge_nusd"] == cost
    assert site.balance_nusd(caller) == NUSD_PER_USD - cost


def assert_cache_is_paid(
    site: Site, caller: Caller, *, cached: int, written: int = 0, stream: bool
) -> Answer:
    """Assert that what is read from the cache and written to it has prices of its own."""
    script = f"script:tokens=4&cached={cached}&cache_written={written}"
    said = [{"role": "system", "content": "word " * 999}, {"role": "user", "content": script}]

    answer = caller.ask(messages=said, stream=stream)

    assert answer.status == 200, answer.body
    record = site.record(answer.call_id)
    assert record["charge_basis"] == "usage"
    assert (record["prompt_tokens"], record["cached_tokens"]) == (1000, cached)
    fresh = 1000 - cached - written
    input_nusd = fresh * INPUT_NUSD + cached * CACHED_NUSD + written * WRITTEN_NUSD
    assert record["charge_nusd"] == input_nusd + 4 * OUTPUT_NUSD
    usage = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == cached
    return answer


def assert_estimated(site: Site, caller: Caller, *, usage: str, stream: bool) -> None:
    """Assert that a call is charged by an estimate where its counts make no sense."""
    answer = caller.ask(f"script:tokens=5&usage={usage}", stream=stream, max_tokens=50)

    assert answer.status == 200, answer.body
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "estimate")
    assert 0 < record["charge_nusd"] < 100 * OUTPUT_NUSD


def assert_leaver_pays(site: Site, caller: Caller, leave: Callable[[LiveCall], None]) -> int:
    """Assert that who leaves a stream pays for what was made. Return the charge in nano-USD."""
    call = caller.begin("script:tokens=900&delay_ms=1&stall_after=250", stream=True)
    call.wait_for_tokens(250)

    leave(call)

    tried = site.wait_for_try(call.call_id, state="cancelled", within_s=CLOSED_WITHIN_S)
    record = site.record(call.call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    made_nusd = tried["completion_tokens"] * OUTPUT_NUSD
    charge_nusd = int(record["charge_nusd"])
    prompt_nusd = record["prompt_tokens"] * INPUT_NUSD
    assert charge_nusd - prompt_nusd == pytest.approx(made_nusd, rel=0.05)
    return charge_nusd
