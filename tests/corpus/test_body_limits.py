"""How long a body each address takes, held to while it arrives; nothing of the rest is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site

FORM = "Content-Type: application/x-www-form-urlencoded"
CHUNKED = "Transfer-Encoding: chunked"
BROWSER = "Accept: text/html,application/xhtml+xml"
SIGN_IN = "POST /sign-in HTTP/1.1"
KB, MB = 1024, 1024 * 1024
LIMIT_BYTES = 256 * KB
PIECE = b"40000\r\n" + b"a" * LIMIT_BYTES + b"\r\n"
NO_BODY_TAKEN = {
    "no page": ("POST /nowhere HTTP/1.1", 404),
    "an address that only leads on": ("POST /keys/new HTTP/1.1", 403),
    "no endpoint": ("POST /v1/fine_tunes HTTP/1.1", 404),
    "a page that is only read": ("GET /sign-in HTTP/1.1", 200),
    "an endpoint that is only read": ("GET /v1/models HTTP/1.1", 200),
    "another method": ("POST /v1/models HTTP/1.1", 405),
    "another method of calls": ("PUT /v1/chat/completions HTTP/1.1", 405),
}


def spooled_bytes(site: Site) -> int:
    """Return how much the server keeps in files that have no name."""
    total = 0
    for link in Path(f"/proc/{site.gateway.process.pid}/fd").iterdir():
        with suppress(OSError):
            if os.readlink(link).endswith("(deleted)"):
                total += link.stat().st_size
    return total


@pytest.fixture
def flat(site: Site, witness: Witness) -> Iterator[None]:
    """Nothing is written to disk, and memory stays as it was."""
    before = witness.rss_bytes()
    yield
    assert witness.rss_bytes() - before < 50 * MB


def pour(site: Site, line: Line, megabytes: int) -> None:
    """Send a chunked body for as long as the server takes it, and look what it keeps of it."""
    for number in range(megabytes * MB // LIMIT_BYTES):
        line.send(PIECE)
        if number % 16 == 0:
            assert spooled_bytes(site) == 0


@pytest.mark.parametrize("field", [b"a&", b"a" * 100 + b"=b&"])
def test_a_long_form_is_refused_unread(
    site: Site, witness: Witness, flat: None, field: bytes
) -> None:
    body = field * (8 * MB // len(field))

    talked = talk(site.gateway.port, request(FORM, line=SIGN_IN, body=body, key=None))

    assert_refused(talked.answer, 413, "payload_too_large")
    assert talked.is_closed


@pytest.mark.parametrize(
    "line", [SIGN_IN, "POST /w/any/keys/new HTTP/1.1", "POST /account/password HTTP/1.1"]
)
def test_a_form_that_grows_too_long_is_refused_as_it_does(
    site: Site, witness: Witness, flat: None, line: str
) -> None:
    with Line(site.gateway.port) as connection:
        connection.send(request(FORM, CHUNKED, line=line, body=b"", key=None, sized=False))
        pour(site, connection, 16)
        talked = connection.listen()

    assert_refused(talked.answer, 413, "payload_too_large")
    assert talked.is_closed


@pytest.mark.parametrize(("line", "status"), NO_BODY_TAKEN.values(), ids=NO_BODY_TAKEN)
def test_what_takes_no_body_answers_and_keeps_nothing_of_it(
    site: Site, healthy: Caller, witness: Witness, flat: None, line: str, status: int
) -> None:
    raw = with_key(request(CHUNKED, line=line, body=b"", sized=False), healthy.secret)

    with Line(site.gateway.port) as connection:
        connection.send(raw)
        pour(site, connection, 32)
        talked = connection.listen()

    assert (talked.answer.status, talked.is_closed) == (status, True)


def test_a_small_body_that_nobody_reads_keeps_the_connection(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    raw = with_key(request(line="GET /v1/models HTTP/1.1", body=b"{}"), healthy.secret)

    with Line(site.gateway.port) as connection:
        for _ in range(2):
            connection.send(raw)
            assert connection.listen(answers=1).answer.status == 200


def test_nobody_is_asked_for_a_body_that_is_not_read(site: Site, witness: Witness) -> None:
    waits = "Expect: 100-continue"
    unread = request(waits, "Content-Length: 9", line="POST /no HTTP/1.1", body=b"", sized=False)
    long = request(waits, "Content-Length: 999999", line=SIGN_IN, body=b"", sized=False)

    assert [answer.status for answer in talk(site.gateway.port, unread).answers] == [404]
    assert [answer.status for answer in talk(site.gateway.port, long).answers] == [413]


def test_a_browser_is_told_on_a_page_and_a_program_in_json(site: Site, witness: Witness) -> None:
    body = b"a" * (LIMIT_BYTES + 1)

    page = talk(site.gateway.port, request(FORM, BROWSER, line=SIGN_IN, body=body)).answer
    json = talk(site.gateway.port, request(FORM, line=SIGN_IN, body=body)).answer

    assert page.status == 413
    assert page.headers["content-type"].startswith("text/html")
    assert b"256 KB" in page.body
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert_refused(json, 413, "payload_too_large")


def test_a_form_has_so_many_fields_and_no_more(site: Site, witness: Witness) -> None:
    cookie = f"Cookie: tollhouse_csrf={'a' * 32}"

    def post(fields: int) -> int:
        body = b"&".join(b"a=%d" % number for number in range(fields))
        raw = request(FORM, BROWSER, cookie, line=SIGN_IN, body=body, key=None)
        return talk(site.gateway.port, raw, answers=1).answer.status

    assert [post(1_000), post(1_001)] == [403, 400]  # the first lacks its CSRF token
