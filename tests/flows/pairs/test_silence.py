"""Providers of each dialect that fall silent, never end or compress, at a server with little
patience.

All dialects are asked at once: what is waited for is the server's patience.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.pairs.dialects import DIALECTS, add_dialects
from tests.flows.site import NUSD_PER_USD, Site
from tests.flows.transports import TRANSPORTS, named

MODELS = [named(dialect.model, transport) for dialect in DIALECTS for transport in TRANSPORTS]


@pytest.fixture(scope="module")
def caller(impatient_site: Site) -> Caller:
    add_dialects(impatient_site)
    return impatient_site.caller(credit_nusd=100 * NUSD_PER_USD)


def ask_all(ask: Callable[[Caller], Answer], caller: Caller) -> dict[str, Answer]:
    """Make the call to each model, and return the answers by the model."""
    callers = [caller.with_(model=model) for model in MODELS]
    with ThreadPoolExecutor(len(callers)) as threads:
        return dict(zip(MODELS, threads.map(ask, callers), strict=True))


def assert_free(site: Site, answer: Answer) -> None:
    record = site.record(answer.call_id)
    told = (record["status"], record["error_code"], record["charge_nusd"])
    assert told == ("upstream_error", "provider_timeout", 0)


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_an_answer_that_does_not_begin(impatient_site: Site, caller: Caller, stream: bool) -> None:
    answers = ask_all(lambda one: one.ask("script:hang", stream=stream), caller)

    told = {model: (one.status, one.error["code"]) for model, one in answers.items()}
    assert told == dict.fromkeys(MODELS, (504, "provider_timeout"))
    for answer in answers.values():
        assert_free(impatient_site, answer)


@pytest.mark.parametrize("script", ["stall_after=4", "endless&delay_ms=100"])
def test_a_stream_that_falls_silent_or_never_ends(
    impatient_site: Site, caller: Caller, script: str
) -> None:
    answers = ask_all(lambda one: one.stream(f"script:{script}"), caller)

    told = {model: one.chunks[-1].get("error", {}).get("code") for model, one in answers.items()}
    assert told == dict.fromkeys(MODELS, "provider_timeout")
    for answer in answers.values():
        assert answer.events[-1] == "[DONE]"
        assert_free(impatient_site, answer)


def test_a_slow_answer_is_waited_for(impatient_site: Site, caller: Caller) -> None:
    answers = ask_all(lambda one: one.ask("script:tokens=3&first_ms=700"), caller)

    assert {model: one.status for model, one in answers.items()} == dict.fromkeys(MODELS, 200)
    for answer in answers.values():
        assert impatient_site.record(answer.call_id)["upstream_us"] >= 690_000


def test_a_compressed_stream(impatient_site: Site, caller: Caller) -> None:
    answers = ask_all(lambda one: one.stream("script:gzip=1"), caller)

    told = {model: (one.status, one.error["code"]) for model, one in answers.items()}
    assert told == dict.fromkeys(MODELS, (502, "provider_unavailable"))
    for answer in answers.values():
        assert impatient_site.record(answer.call_id)["charge_nusd"] == 0
