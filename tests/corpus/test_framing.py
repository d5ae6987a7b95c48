"""Group H: HTTP framing and connections, before anybody is asked who they are.

Not here: H37's other half (we end no TLS), and what proxies in front would do with a line.
"""

from __future__ import annotations

import pytest

from tests.corpus.framing import CASES, CHAT, Case, chunked
from tests.corpus.oracle import Witness, assert_cut, assert_refused
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site

WORDS = b'{"model":"fake-model","messages":[{"role":"user","content":"hi"}]}'


def assert_nothing_came_of_it(site: Site, caller: Caller) -> None:
    """A key is known before the body is read, so a body that goes wrong leaves a record of a
    call that was not let in; a head that is wrong leaves none."""
    for record in site.office.do("records", key_id=caller.key_id):
        assert (record["status"], record["hold_nusd"]) == ("refused", 0), record


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_not_decent_http_is_refused_and_cut(
    site: Site, abused: Caller, witness: Witness, case: Case
) -> None:
    answered = talk(site.gateway.port, with_key(case.raw, abused.secret))

    assert_cut(answered, case.status, case.code)
    assert_nothing_came_of_it(site, abused)


def test_the_whole_corpus_over_and_over_leaves_the_worker_as_it_was(
    site: Site, abused: Caller, witness: Witness
) -> None:
    def walk() -> None:
        for case in CASES:
            if len(case.raw) < 100_000:
                talk(site.gateway.port, with_key(case.raw, abused.secret))

    walk()
    before = witness.rss_bytes(), witness.open_files()

    for _ in range(5):
        walk()

    assert witness.rss_bytes() - before[0] < 5 * 1024 * 1024
    assert witness.open_files() - before[1] < 10


SAME = {
    "H29 HTTP/1.0": request(line=f"POST {CHAT} HTTP/1.0"),
    "H29 HTTP/1.0 keep-alive": request("Connection: keep-alive", line=f"POST {CHAT} HTTP/1.0"),
    "H30 h2c": request("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: "),
    "H30 websocket": request("Connection: Upgrade", "Upgrade: websocket"),
    "close": request("Connection: close"),
}


@pytest.mark.parametrize("raw", SAME.values(), ids=SAME)
def test_some_requests_are_served_and_are_the_last_of_their_connection(
    site: Site, healthy: Caller, witness: Witness, raw: bytes
) -> None:
    witness.expected_calls = 1

    answered = talk(site.gateway.port, with_key(raw + request(), healthy.secret))

    assert answered.answer.status == 200
    assert answered.answer.headers["connection"] == "close"
    assert answered.is_closed


def test_an_upgraded_body_may_come_in_chunks_and_late(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(WORDS), WORDS)
    raw = with_key(chunked(body, "Connection: Upgrade", "Upgrade: h2c"), healthy.secret)
    pieces = [raw[start : start + 150] for start in range(0, len(raw), 150)]
    witness.expected_calls = 1

    answered = talk(site.gateway.port, *pieces, pause_s=0.02)

    assert answered.answer.status == 200


def test_hosts_of_ours_are_served(site: Site, healthy: Caller, witness: Witness) -> None:
    hosts = ["127.0.0.1:9", "LocalHost", "[::1]:80", "gateway.example", "a.b.apps.example"]
    witness.expected_calls = len(hosts)

    for host in hosts:
        raw = with_key(request(host=f"Host: {host}"), healthy.secret)
        assert talk(site.gateway.port, raw, answers=1).answer.status == 200


@pytest.mark.parametrize(
    ("line", "allow"),
    [(f"GET {CHAT} HTTP/1.1", "POST"), ("DELETE /v1/models HTTP/1.1", "GET, HEAD, OPTIONS")],
)
def test_other_methods_are_named_in_allow(  # H27
    site: Site, healthy: Caller, witness: Witness, line: str, allow: str
) -> None:
    raw = with_key(request(line=line, body=b""), healthy.secret)

    answer = talk(site.gateway.port, raw, answers=1).answer

    assert_refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allow


def test_requests_ahead_of_a_malformed_one_are_answered_first(  # H31
    site: Site, healthy: Caller, witness: Witness
) -> None:
    good = with_key(request(), healthy.secret)
    witness.expected_calls = 2

    answered = talk(site.gateway.port, good * 2 + b"bad\r\n\r\n" + good * 7)

    assert [answer.status for answer in answered.answers] == [200, 200, 400]
    assert_refused(answered.answers[2], 400, "invalid_request")
    assert answered.is_closed


def test_a_malformed_body_ahead_of_its_turn_is_refused_in_its_turn(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    first = with_key(request(), healthy.secret)
    second = with_key(chunked(b"zz\r\n"), healthy.secret)
    witness.expected_calls = 1

    answered = talk(site.gateway.port, first + second)

    assert [answer.status for answer in answered.answers] == [200, 400]
    assert answered.is_closed


def test_nobody_sends_more_ahead_than_is_kept(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    ahead = with_key(request(line="GET /v1/models HTTP/1.1", body=b""), healthy.secret)

    answered = talk(site.gateway.port, ahead * 200)

    statuses = [answer.status for answer in answered.answers]
    assert statuses == [200] * 65 + [400]


def test_a_bad_key_is_refused_without_asking_for_the_body(  # H35
    site: Site, witness: Witness
) -> None:
    raw = request("Expect: 100-continue", key="sk-gw-nobody")
    head = raw[: raw.index(b"\r\n\r\n") + 4]

    answered = talk(site.gateway.port, head)

    assert_cut(answered, 401, "invalid_api_key")


def test_a_body_is_asked_for_when_the_key_is_good(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    raw = with_key(request("Expect: 100-continue"), healthy.secret)
    cut = raw.index(b"\r\n\r\n") + 4
    witness.expected_calls = 1

    answered = talk(site.gateway.port, raw[:cut], raw[cut:], pause_s=0.1, answers=2)

    assert [answer.status for answer in answered.answers] == [100, 200]


def test_a_body_that_is_too_long_is_refused_before_it_is_sent(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    raw = with_key(request("Content-Length: 3000000", body=b"", sized=False), healthy.secret)

    answered = talk(site.gateway.port, raw, b"x" * 3_000_000)

    assert_cut(answered, 413, "payload_too_large")


def test_trailers_are_no_headers(site: Site, healthy: Caller, witness: Witness) -> None:  # H13
    trailer = f"0\r\nAuthorization: Bearer {healthy.secret}\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n"
    body = b"%x\r\n%s\r\n%s" % (len(WORDS), WORDS, trailer.encode())
    raw = request("Transfer-Encoding: chunked", key=None, body=body, sized=False)

    answer = talk(site.gateway.port, raw, answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")


def test_names_with_underscores_are_not_there(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    raw = request("X_Api_Key: " + healthy.secret, key=None)

    answer = talk(site.gateway.port, raw, answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")
