"""Providers that are waited for no longer than the settings say."""

from __future__ import annotations

import socket

import pytest

from tests.flows.caller import Answer
from tests.flows.site import Site


def assert_timed_out(site: Site, answer: Answer) -> None:
    assert (answer.status, answer.error["code"]) == (504, "provider_timeout")
    assert answer.headers["x-should-retry"] == "false"
    assert_free_of_charge(site, answer)


def assert_free_of_charge(site: Site, answer: Answer) -> None:
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("upstream_error", "zero_upstream")
    assert (record["error_code"], record["charge_nusd"]) == ("provider_timeout", 0)
    site.wait_for_try(answer.call_id, state="cancelled")


@pytest.mark.parametrize("script", ["hang", "stall_after=0", "sse=comments&stall_after=0"])
def test_a_stream_that_does_not_begin_is_given_up(impatient_site: Site, script: str) -> None:
    answer = impatient_site.caller().stream(f"script:{script}")

    assert_timed_out(impatient_site, answer)


@pytest.mark.parametrize("script", ["stall_after=4", "stall_after=10"])
def test_a_stream_that_falls_silent_is_given_up(impatient_site: Site, script: str) -> None:
    answer = impatient_site.caller().stream(f"script:{script}")

    assert answer.status == 200
    assert answer.chunks[-1]["error"]["code"] == "provider_timeout"
    assert answer.events[-1] == "[DONE]"
    assert_free_of_charge(impatient_site, answer)


def test_a_stream_that_goes_on_for_too_long_is_given_up(impatient_site: Site) -> None:
    answer = impatient_site.caller().stream("script:endless&delay_ms=100")

    assert answer.chunks[-1]["error"]["code"] == "provider_timeout"
    assert_free_of_charge(impatient_site, answer)


@pytest.mark.parametrize("script", ["hang", "delay_ms=1000", "first_ms=10000"])
def test_an_answer_that_takes_too_long_is_given_up(impatient_site: Site, script: str) -> None:
    answer = impatient_site.caller().ask(f"script:{script}")

    assert_timed_out(impatient_site, answer)


@pytest.mark.parametrize(("stream", "tries"), [(True, 2), (False, 1)])
def test_another_target_is_tried_while_there_is_time(
    impatient_site: Site, stream: bool, tries: int
) -> None:
    site = impatient_site
    name = f"two-targets-{tries}"
    site.office.do("model", name=name, provider="fake")
    site.office.do("target", model=name, provider="fake")
    site.add_model(f"after-{name}")

    answer = site.caller().with_(model=name).ask("script:hang", stream=stream)

    assert_timed_out(site, answer)
    assert len(site.tries(answer.call_id)) == tries


def test_a_provider_that_does_not_take_the_connection_is_unavailable(
    impatient_site: Site,
) -> None:
    site = impatient_site
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for full in (first, second):
            full.setblocking(False)
            full.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        site.office.do("provider", name="deaf", base_url=url)
        site.add_model("deaf-model", provider="deaf")

        answer = site.caller().with_(model="deaf-model").ask()

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert site.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_slow_answer_is_waited_for_and_its_time_is_the_providers(
    site: Site, stream: bool
) -> None:
    answer = site.caller().ask("script:first_ms=1200&tokens=3", stream=stream)

    assert answer.text == "tok0 tok1 tok2 "
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["upstream_us"] >= 1_190_000
    assert record["total_us"] >= record["upstream_us"]
