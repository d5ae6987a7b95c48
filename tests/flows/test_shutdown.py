"""A gateway that is told to stop: live calls end well, nothing new begins, the ledger is closed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Answer
from tests.flows.site import Site, running_site
from tests.support.servers import STOP_S
from tests.support.waiting import wait_until

# uvicorn ends by the signal that it was sent, once everything is put away.
ENDED_WELL = (0, -signal.SIGTERM)


@pytest.fixture
def own_site(home: Path) -> Iterator[Site]:
    with running_site(home) as running:
        yield running


def is_draining(port: int) -> bool:
    with Line(port) as line:
        line.send(request(line="GET /v1/health HTTP/1.1", key=None, body=b""))
        return line.listen(answers=1).answer.status == 503


def stop(site: Site, number: signal.Signals = signal.SIGTERM) -> None:
    """Ask the server to stop; return when it takes no new requests."""
    site.gateway.process.send_signal(number)
    wait_until(lambda: is_draining(site.gateway.port), what="new requests to be refused")


def record_states(site: Site, answers: list[Answer]) -> set[tuple[str, str]]:
    records = [site.record(answer.call_id) for answer in answers]
    return {(record["status"], record["charge_basis"]) for record in records}


def test_live_calls_end_well_after_a_stop_was_asked_for(own_site: Site) -> None:
    caller = own_site.caller()
    script = "script:tokens=60&delay_ms=2&stall_after=9&gate=stop"
    streams = [caller.begin(script, stream=True, max_tokens=100) for _ in range(10)]
    for call in streams:
        call.wait_for_tokens(1)
    buffered = [caller.begin(script, max_tokens=100) for _ in range(5)]
    own_site.running(caller, count=15)

    stop(own_site)
    own_site.upstream.open_gate("stop")
    answers = [call.answer() for call in (*streams, *buffered)]

    assert own_site.gateway.stop() in ENDED_WELL
    assert {answer.is_whole for answer in answers} == {True}
    assert all("tok59 " in answer.text for answer in answers)
    assert record_states(own_site, answers) == {("ok", "usage")}
    assert own_site.office.do("drawn_nusd") == 0
    assert "Traceback" not in own_site.gateway.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_while_calls_end_new_ones_are_told_when_to_come_back(
    own_site: Site, number: signal.Signals
) -> None:
    caller = own_site.caller()
    with (
        Line(own_site.gateway.port) as used,
        Line(own_site.gateway.port) as late,
        caller.begin("script:endless&delay_ms=20", stream=True) as stream,
    ):
        stream.wait_for_tokens(3)
        asked = with_key(request(line="GET /v1/models HTTP/1.1", body=b""), caller.secret)
        used.send(asked)
        used.listen(answers=1)
        late.send(b"GET /v1/health HTTP/1.1\r\n")

        stop(own_site, number)
        late.send(b"Host: 127.0.0.1\r\n\r\n")
        used.send(asked)
        refused = [late.listen(), used.listen()]
        refused += [
            talk(own_site.gateway.port, with_key(raw, caller.secret))
            for raw in (
                request(),
                request("Accept: text/html", line="GET /sign-in HTTP/1.1", key=None, body=b""),
            )
            for _ in range(3)
        ]
        stream.wait_for_tokens(3)

    for told in refused:
        assert (told.answer.status, told.is_closed) == (503, True)
        assert told.answer.headers["connection"] == "close"
        assert 1 <= int(told.answer.headers["retry-after"]) <= 10
    assert refused[0].answer.error["code"] == "server_restarting"
    assert own_site.gateway.process.wait(STOP_S) in (0, -number)
    assert "Traceback" not in own_site.gateway.log.read_text()


def test_calls_that_outlast_the_patience_of_a_stop_are_told_and_cost_nothing(home: Path) -> None:
    with running_site(home, {"TOLLHOUSE_DRAIN_S": "1"}) as site:
        caller = site.caller()
        stream = caller.begin("script:endless&delay_ms=20", stream=True, max_tokens=5000)
        stream.wait_for_tokens(3)
        buffered = caller.begin("script:hang", max_tokens=100)
        site.running(caller, count=2)

        stop(site)
        streamed, refused = stream.answer(), buffered.answer()

        assert site.gateway.stop() in ENDED_WELL
        assert streamed.is_whole
        assert streamed.events[-1] == "[DONE]"
        assert streamed.chunks[-1]["error"]["code"] == "server_restarting"
        assert (refused.status, refused.error["code"]) == (503, "server_restarting")
        assert record_states(site, [streamed, refused]) == {("platform_aborted", "zero_platform")}
        assert {site.record(a.call_id)["error_code"] for a in (streamed, refused)} == {
            "server_restarting"
        }
        assert site.office.do("drawn_nusd") == 0
