"""Callers that leave: the provider is stopped, what it had made is paid, nothing stays held."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from tests.flows.caller import CHAT, Caller, LiveCall
from tests.flows.site import INPUT_NUSD, KEEP_ALIVE, NUSD_PER_USD, OUTPUT_NUSD, Site

# A second is promised, and a busy machine has its time.
CLOSED_WITHIN_S = 20
HOW: dict[str, Callable[[LiveCall], None]] = {"FIN": LiveCall.leave, "RST": LiveCall.reset}
each_way = pytest.mark.parametrize("leave", HOW.values(), ids=HOW)


@pytest.fixture(scope="session")
def output_model(site: Site) -> str:
    """A model whose prompts are free, so that the charge is for what was generated alone."""
    return site.add_model("output-model-2", input_pusd=0)


@each_way
def test_a_caller_that_leaves_in_the_middle_pays_for_what_was_made(
    site: Site, output_model: str, leave: Callable[[LiveCall], None]
) -> None:
    caller = site.caller().with_(model=output_model)
    # What is made after the last piece that we have read nobody could tell apart from a delay.
    call = caller.begin("script:tokens=9000&delay_ms=1&stall_after=250", stream=True)
    call.wait_for_tokens(250)

    leave(call)

    try_ = site.wait_for_try(call.call_id, state="cancelled", within_s=CLOSED_WITHIN_S)
    record = site.record(call.call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["error_code"] == "client_cancelled"
    made = try_["completion_tokens"]
    assert record["charge_nusd"] == pytest.approx(made * OUTPUT_NUSD, rel=0.02)
    assert record["charge_nusd"] <= made * OUTPUT_NUSD


@each_way
@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_caller_that_leaves_before_the_first_byte_pays_the_prompt(
    site: Site, leave: Callable[[LiveCall], None], stream: bool
) -> None:
    credit_nusd = NUSD_PER_USD // 100
    caller = site.caller(credit_nusd=credit_nusd)
    said = [{"role": "user", "content": text} for text in ("word " * 500, "script:hang")]
    call = caller.begin(messages=said, stream=stream, headers={"x-request-id": "leaving"})
    [begun] = wait_for_tries(site, caller, 1)

    leave(call)

    site.wait_for_try(begun, state="cancelled", within_s=CLOSED_WITHIN_S)
    record = site.record(begun)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["completion_tokens"] == 0
    assert record["http_status"] in (499, 200)  # where a keep-alive was faster
    assert record["prompt_tokens"] == pytest.approx(500, rel=0.05)
    assert record["charge_nusd"] == record["prompt_tokens"] * INPUT_NUSD
    site.assert_free(caller, credit_nusd - record["charge_nusd"])


@each_way
def test_a_caller_that_leaves_a_provider_that_never_got_the_request_pays_nothing(
    site: Site, leave: Callable[[LiveCall], None]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # takes connections, and says nothing
        name = f"deaf-{deaf.getsockname()[1]}"
        site.office.do("provider", name=name, base_url=f"https://127.0.0.1:{name[5:]}/v1")
        caller = site.caller().with_(model=site.add_model(f"model-{name}", provider=name))
        call = caller.begin("a b c", headers={"x-request-id": "leaving"})
        site.running(caller, count=1)

        leave(call)

        [record] = site.records(caller)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "zero_empty")
    assert record["charge_nusd"] == 0


@each_way
def test_the_usage_of_a_finished_stream_is_waited_for_though_its_caller_left(
    site: Site, leave: Callable[[LiveCall], None]
) -> None:
    caller = site.caller()
    prompt = f"script:tokens=20&usage_gate={caller.key_id}"
    call = caller.begin(prompt, stream=True)
    call.wait_for_tokens(20)
    time.sleep(0.5)  # the finish is right behind the last token, and is not told without the usage

    leave(call)

    time.sleep(0.5)  # long enough to see it go; the provider is not stopped for it
    site.upstream.open_gate(caller.key_id)
    record = site.record(call.call_id)
    told = (record["error_code"], record["attempts"])
    assert (record["status"], record["charge_basis"]) == ("cancelled", "usage"), told
    assert record["charge_nusd"] == INPUT_NUSD + 20 * OUTPUT_NUSD
    assert site.tries(call.call_id)[0]["state"] == "done"


def test_a_usage_that_never_comes_is_not_waited_for_for_ever(site: Site) -> None:
    caller = site.caller()
    call = caller.begin("script:tokens=20&usage_gate=never", stream=True)
    call.wait_for_tokens(20)
    time.sleep(0.5)  # the finish is right behind the last token, and is not told without the usage

    call.leave()

    record = site.record(call.call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["completion_tokens"] == 20


def wait_for_tries(site: Site, caller: Caller, count: int) -> list[str]:
    """Return the ids of the caller's calls once the upstream works on so many."""
    ids = [str(record["id"]) for record in site.running(caller, count=count)]
    for call_id in ids:
        site.wait_for_try(call_id, state="running")
    return ids


def test_a_caller_that_only_ends_its_sending_half_gets_the_whole_stream(site: Site) -> None:
    caller = site.caller()
    script = f"script:tokens=60&delay_ms=2&stall_after=9&gate={caller.key_id}"
    with caller.begin(script, stream=True, max_tokens=100) as call:
        call.wait_for_tokens(3)

        call.socket.shutdown(socket.SHUT_WR)
        for line in call.lines():
            if line == KEEP_ALIVE:  # we have seen it, and asked whether anybody is there
                break
        site.upstream.open_gate(caller.key_id)

        assert "tok59 " in call.answer().body.decode()
    assert site.records(caller)[0]["status"] == "ok"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_one_that_does_so_before_the_answer_begins_gets_all_of_it(site: Site, stream: bool) -> None:
    caller = site.caller()
    with caller.begin(f"script:gate={caller.key_id}", stream=stream) as call:
        site.running(caller, count=1)

        call.socket.shutdown(socket.SHUT_WR)
        assert call.socket.recv(21, socket.MSG_PEEK) == b"HTTP/1.1 100 Continue"
        site.upstream.open_gate(caller.key_id)
        answer = call.answer()

    assert (answer.status, answer.is_whole) == (200, True)
    assert answer.headers["connection"] == "close"
    assert site.records(caller)[0]["status"] == "ok"


@each_way
def test_a_caller_may_leave_at_any_token(site: Site, leave: Callable[[LiveCall], None]) -> None:
    credit_nusd = NUSD_PER_USD // 50
    caller = site.caller(credit_nusd=credit_nusd)
    calls = [
        caller.begin("script:tokens=10&delay_ms=20", stream=True, max_tokens=20) for _ in range(11)
    ]

    for token, call in enumerate(calls):
        if token:
            call.wait_for_tokens(token)
        leave(call)

    records = site.records(caller, count=11)
    assert {record["status"] for record in records} <= {"refused", "cancelled", "ok"}
    assert all(record["charge_nusd"] <= record["hold_nusd"] for record in records)
    site.assert_free(caller, credit_nusd - sum(record["charge_nusd"] for record in records))


@each_way
def test_a_caller_that_leaves_after_the_end_has_had_its_answer(
    site: Site, caller: Caller, leave: Callable[[LiveCall], None]
) -> None:
    call = caller.begin("script:tokens=5", stream=True)
    assert list(call.events())[-1] == "[DONE]"

    leave(call)

    assert site.record(call.call_id)["status"] == "ok"


def test_a_caller_that_leaves_while_it_still_sends_is_not_let_in(
    site: Site, caller: Caller
) -> None:
    with socket.create_connection(("127.0.0.1", caller.port)) as wire:
        head = (
            f"POST {CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {caller.secret}\r\n"
        )
        wire.sendall(f"{head}content-length: 1000\r\n\r\n{{".encode())

    [record] = site.records(caller)
    assert (record["status"], record["error_code"]) == ("refused", "client_cancelled")


def test_many_that_leave_at_once_leave_nothing_behind(site: Site) -> None:
    credit_nusd = NUSD_PER_USD // 40
    caller = site.caller(credit_nusd=credit_nusd)
    calls = [
        caller.begin("script:endless&delay_ms=200", stream=True, max_tokens=150) for _ in range(60)
    ]
    for call in calls:
        call.wait_for_tokens(1)

    for number, call in enumerate(calls):
        [LiveCall.leave, LiveCall.reset][number % 2](call)

    records = site.records(caller, count=60)
    assert {record["status"] for record in records} == {"cancelled"}
    for call in calls:
        site.wait_for_try(call.call_id, state="cancelled")
    site.assert_free(caller, credit_nusd - sum(record["charge_nusd"] for record in records))
