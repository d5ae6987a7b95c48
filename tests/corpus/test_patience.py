"""Group H over time: what comes too slowly, or not at all (H8, H32, H33, H34)."""

from __future__ import annotations

import select
import time
from contextlib import ExitStack

from tests.corpus.conftest import BODY_PACE_S, BODY_SILENCE_S, HEAD_S, IDLE_CONNECTIONS, PROXY
from tests.corpus.oracle import Witness, assert_cut
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until


def head_of(raw: bytes) -> bytes:
    return raw[: raw.index(b"\r\n\r\n") + 4]


def drip(line: Line, raw: bytes, *, every_s: float, bytes_each: int = 1) -> None:
    """Send a little at a time until the server says something or everything is sent."""
    for start in range(0, len(raw), bytes_each):
        line.send(raw[start : start + bytes_each])
        if select.select([line.socket], [], [], every_s)[0]:
            return


def test_a_head_that_drips_is_cut(site: Site, abused: Caller, witness: Witness) -> None:  # H32
    with Line(site.gateway.port) as line:
        drip(line, with_key(request(), abused.secret), every_s=0.2)
        answered = line.listen()

    assert_cut(answered, 408, "request_timeout")


def test_a_body_that_drips_is_cut(site: Site, abused: Caller, witness: Witness) -> None:  # H33
    raw = with_key(request(body=b" " * 5_000), abused.secret)

    with Line(site.gateway.port) as line:
        line.send(head_of(raw))
        drip(line, b" " * 5_000, every_s=0.1, bytes_each=20)
        answered = line.listen()

    assert_cut(answered, 408, "request_timeout")


def test_a_body_that_stops_is_cut(site: Site, abused: Caller, witness: Witness) -> None:  # H8
    raw = with_key(request("Content-Length: 9000", sized=False), abused.secret)

    answered = talk(site.gateway.port, raw)

    assert_cut(answered, 408, "request_timeout")


def test_a_chunked_body_that_stops_is_cut(site: Site, abused: Caller, witness: Witness) -> None:
    raw = request("Transfer-Encoding: chunked", body=b"2\r\n{", sized=False)

    answered = talk(site.gateway.port, with_key(raw, abused.secret))

    assert_cut(answered, 408, "request_timeout")


def test_a_bad_key_is_refused_before_a_body_that_drips(site: Site, witness: Witness) -> None:
    raw = head_of(request(key="sk-gw-nobody", body=b" " * 100))

    with Line(site.gateway.port) as line:
        line.send(raw)
        drip(line, b" " * 100, every_s=0.05)
        answered = line.listen()

    assert_cut(answered, 401, "invalid_api_key")


def test_a_body_at_a_decent_pace_may_take_longer_than_any_of_that(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    longest_s = max(HEAD_S, BODY_SILENCE_S, BODY_PACE_S)
    body = b'{"model":"fake-model","messages":[{"role":"user","content":"hi"}]}'
    raw = with_key(request(body=b" " * 300_000 + body), healthy.secret)
    witness.expected_calls = 1

    with Line(site.gateway.port) as line:
        pieces = [raw[start : start + 7_500] for start in range(0, len(raw), 7_500)]
        for piece in pieces:
            line.send(piece)
            time.sleep((longest_s + 1) / len(pieces))
        answered = line.listen(answers=1)

    assert answered.answer.status == 200


def test_a_slow_answer_is_nobodys_impatience(site: Site, healthy: Caller, witness: Witness) -> None:
    slowest_s = max(HEAD_S, BODY_SILENCE_S) + 1
    words = f"script:first_ms={slowest_s * 1000}".encode()
    body = b'{"model":"fake-model","messages":[{"role":"user","content":"%s"}]}' % words
    raw = with_key(request(body=body), healthy.secret)
    witness.expected_calls = 1

    answered = talk(site.gateway.port, raw[:-9], raw[-9:], pause_s=0.1, answers=1)

    assert answered.answer.status == 200
    assert answered.answer.headers.get("connection") != "close"


def still_open(lines: list[Line]) -> int:
    """Return how many of these connections the server has not ended."""
    poll = select.poll()
    for line in lines:
        poll.register(line.socket, select.POLLIN)
    return len(lines) - len(poll.poll(0))


def test_one_address_keeps_so_many_idle_connections_and_no_more(  # H34
    site: Site, healthy: Caller, witness: Witness, source: str
) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(site.gateway.port, source)) for _ in range(300)]
        other = stack.enter_context(Line(site.gateway.port))

        wait_until(lambda: still_open(lines) <= IDLE_CONNECTIONS, what="idle connections to close")

        assert still_open(lines) == IDLE_CONNECTIONS
        assert still_open(lines[-IDLE_CONNECTIONS:]) == IDLE_CONNECTIONS  # the newest
        witness.expected_calls = 3
        for line in (lines[-1], lines[-2], other):
            line.send(with_key(request(), healthy.secret))
            assert line.listen(answers=1).answer.status == 200


def test_nobody_opens_any_number_at_once(site: Site, witness: Witness, source: str) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(site.gateway.port, source)) for _ in range(800)]

        wait_until(lambda: still_open(lines) <= IDLE_CONNECTIONS, what="idle connections to close")


def test_a_trusted_proxy_keeps_any_number(site: Site, witness: Witness) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(site.gateway.port, PROXY)) for _ in range(100)]
        strangers = [stack.enter_context(Line(site.gateway.port, "127.0.0.77")) for _ in range(100)]

        wait_until(lambda: still_open(strangers) == IDLE_CONNECTIONS, what="the strangers to go")

        assert still_open(lines) == 100
