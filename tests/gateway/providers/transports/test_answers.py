"""What a provider's bytes come to: whole answers, broken ones, and the next call after each."""

from __future__ import annotations

import pytest

from gateway.core.errors import ProviderUnavailable, StreamBroken
from gateway.providers.transports.direct_connection import MAX_SILENT_BYTES
from tests.gateway.providers.transports.peer import (
    CLOSE,
    HALF_CLOSE,
    HOLD,
    RESET,
    Script,
    answer,
    ask,
    chunked,
    connecting,
    playing,
    request,
)

OK = b"HTTP/1.1 200 OK\r\n"
SECOND = answer(b"second")
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\ncontent-encoding: gzip\r\nx-hint: yes\r\n\r\n"

# Name: script, status, body, and whether the next call may use the connection.
WHOLE: dict[str, tuple[Script, int, bytes, bool]] = {
    "content-length": ([answer(b"first")], 200, b"first", True),
    "no body": ([answer()], 200, b"", True),
    "an error": ([answer(b"slow", status="429 Too Many")], 429, b"slow", True),
    "no reason phrase": ([b"HTTP/1.1 200\r\ncontent-length: 1\r\n\r\n1"], 200, b"1", True),
    "names in capitals": ([OK + b"CONTENT-LENGTH: 1\r\n\r\n1"], 200, b"1", True),
    "chunks": ([chunked(b"fi", b"rst")], 200, b"first", True),
    "no chunks": ([chunked()], 200, b"", True),
    "chunk extensions": ([CHUNKED + b'2;a=b;c="d"\r\nok\r\n0;e\r\n\r\n'], 200, b"ok", True),
    "much between pieces": (
        [CHUNKED, *[b"1;" + b"e" * 40_000 + b"\r\n", b"a\r\n"] * 3, b"0\r\n\r\n"],
        *(200, b"aaa", True),
    ),
    "a trailer": (
        [chunked(b"first", end=b"0\r\ncontent-encoding: gzip\r\n\r\n")],
        *(200, b"first", True),
    ),
    "a trailer of its own": (
        [chunked(b"first", end=b""), b"0\r\n", b"content-encoding: gz", b"ip\r\n\r\n"],
        *(200, b"first", True),
    ),
    "in pieces": (
        [OK[:9], OK[9:] + b"content-le", b"ngth: 2\r\n\r", b"\no", b"k"],
        200,
        b"ok",
        True,
    ),
    "100 first": ([b"HTTP/1.1 100 Continue\r\n\r\n", answer(b"first")], 200, b"first", True),
    "103 in one": ([EARLY_HINTS * 2 + answer(b"first")], 200, b"first", True),
    "an offer to upgrade": (
        [answer(b"first", "upgrade: h2c", "connection: upgrade")],
        *(200, b"first", True),
    ),
    "until the end": ([OK + b"\r\nfir", b"st", CLOSE], 200, b"first", False),
    "nothing until the end": ([OK + b"\r\n", CLOSE], 200, b"", False),
    "until the half": ([OK + b"\r\nfirst", HALF_CLOSE, HOLD], 200, b"first", False),
    "a farewell": ([answer(b"first", "connection: close"), HOLD], 200, b"first", False),
    "HTTP/1.0": ([answer(b"first").replace(b"1.1", b"1.0"), HOLD], 200, b"first", False),
    "HTTP/1.0 until the end": ([b"HTTP/1.0 200 OK\r\n\r\nfirst", CLOSE], 200, b"first", False),
    "HTTP/1.0 kept, in chunks": (
        [chunked(b"first").replace(b"1.1 200 OK", b"1.0 200 OK\r\nconnection: keep-alive"), HOLD],
        *(200, b"first", False),
    ),
    "204": ([b"HTTP/1.1 204 No Content\r\n\r\n", HOLD], 204, b"", False),
    "204 with a body": ([answer(b"first", status="204 No Content"), HOLD], 204, b"", False),
    "204, then a body": (
        [b"HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n", b"first", HOLD],
        *(204, b"", False),
    ),
    "304 with a length": ([b"HTTP/1.1 304 N\r\ncontent-length: 9\r\n\r\n", HOLD], 304, b"", False),
    # What is behind an answer is cut off with the connection.
    "two answers": ([answer(b"first") + answer(b"third"), HOLD], 200, b"first", False),
    "an answer and a half": ([answer(b"first") + OK, HOLD], 200, b"first", False),
    "an answer and rubbish": ([answer(b"first") + b"\0rubbish", HOLD], 200, b"first", False),
    "chunks and rubbish": ([chunked(b"first") + b"0\r\n\r\n", HOLD], 200, b"first", False),
    "a farewell and more": (
        [answer(b"first", "connection: close") + answer(b"third"), HOLD],
        *(200, b"first", False),
    ),
}


@pytest.mark.parametrize(
    ("script", "status", "body", "is_kept"), [pytest.param(*WHOLE[name], id=name) for name in WHOLE]
)
async def test_a_whole_answer_is_read_and_the_next_call_gets_its_own(
    script: Script, status: int, body: bytes, is_kept: bool
) -> None:
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        first = await ask(transport, peer)
        second = await ask(transport, peer)

        assert (first.status, first.body) == (status, body)
        assert "x-hint" not in first.headers
        assert (second.status, second.body) == (200, b"second")
        assert second.headers == {"content-length": "6"}
        assert peer.connections == (1 if is_kept else 2)


LONG = b"x" * MAX_SILENT_BYTES

# An answer that never gets a head. It was sent: it may have run.
HEADLESS: dict[str, Script] = {
    "closed at once": [CLOSE],
    "reset at once": [RESET],
    "half closed at once": [HALF_CLOSE, HOLD],
    "half a head": [OK + b"content-le", CLOSE],
    "a head without its end": [OK + b"content-length: 5\r\n", CLOSE],
    "reset in the head": [OK, RESET],
    "only interim": [EARLY_HINTS, CLOSE],
    "switched protocols": [
        b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n" + answer(b"1"),
        HOLD,
    ],
    "a head too long": [OK, b"a: " + LONG, HOLD],
    "a status line too long": [b"HTTP/1.1 200 ", LONG, HOLD],
    "too many fields": [OK, *[b"a: %b\r\n" % (b"b" * 8000)] * 9, HOLD],
    "hundreds of interim answers": [*[PROCESSING * 150] * 2, HOLD],
    "endless interim": [*[EARLY_HINTS * 400] * 9, HOLD],
    "HTTP/2": [b"\0\0\x12\x04\0\0\0\0\0", HOLD],
    "no status": [b"HTTP/1.1 OK\r\n\r\n", HOLD],
    "a request": [b"GET / HTTP/1.1\r\n\r\n", HOLD],
    "space before the colon": [OK + b"content-length : 0\r\n\r\n", HOLD],
    "a field without a colon": [OK + b"content-length\r\n\r\n", HOLD],
    "a NUL in a field": [OK + b"a: \0\r\ncontent-length: 0\r\n\r\n", HOLD],
    "bare CR": [OK + b"a: b\rcontent-length: 0\r\n\r\n", HOLD],
    "two lengths": [OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab", HOLD],
    "a list of lengths": [OK + b"content-length: 1, 2\r\n\r\nab", HOLD],
    "a negative length": [OK + b"content-length: -1\r\n\r\n", HOLD],
    "a length with a sign": [OK + b"content-length: +1\r\n\r\na", HOLD],
    "a length and chunks": [OK + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", HOLD],
}


@pytest.mark.parametrize("script", [pytest.param(HEADLESS[name], id=name) for name in HEADLESS])
async def test_a_call_without_an_answer_was_sent_all_the_same(script: Script) -> None:
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        with pytest.raises(ProviderUnavailable):
            await ask(transport, peer)

        assert len(peer.requests) == 1
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


# An answer that breaks off in its body.
BROKEN: dict[str, Script] = {
    "too short": [answer(b"first")[:-1], CLOSE],
    "too short, half closed": [answer(b"first")[:-1], HALF_CLOSE, HOLD],
    "no byte of it": [answer(b"first")[:-5], CLOSE],
    "reset": [answer(b"first")[:-1], RESET],
    "reset instead of an end": [OK + b"\r\nfirst", RESET],
    "no last chunk": [chunked(b"first", end=b""), CLOSE],
    "half a chunk": [chunked(b"first", end=b"8\r\nhal"), CLOSE],
    "half a size": [chunked(b"first", end=b"8"), CLOSE],
    "half an end": [chunked(b"first", end=b"0\r\n"), CLOSE],
    "half a trailer": [chunked(b"first", end=b"0\r\na: b\r\n"), CLOSE],
    "no size": [CHUNKED + b"first\r\n", HOLD],
    "an empty size": [CHUNKED + b"\r\n\r\n", HOLD],
    "a negative size": [CHUNKED + b"-1\r\n", HOLD],
    "a size with 0x": [CHUNKED + b"0x1\r\na\r\n0\r\n\r\n", HOLD],
    "a chunk longer than said": [CHUNKED + b"1\r\nab\r\n0\r\n\r\n", HOLD],
    "bare LF behind an extension": [CHUNKED + b"1;a\na\r\n0\r\n\r\n", HOLD],
    "endless trailer": [chunked(b"first", end=b"0\r\na: "), LONG, LONG, HOLD],
    "endless trailers": [chunked(b"first", end=b"0\r\n"), *[b"a: b\r\n" * 9000] * 3, HOLD],
    "endless extension": [chunked(b"first", end=b"1;"), LONG, LONG, HOLD],
    "many thousand chunks of a byte": [CHUNKED, *[b"1\r\n \r\n" * 5_000] * 5, HOLD],
}


@pytest.mark.parametrize("script", [pytest.param(BROKEN[name], id=name) for name in BROKEN])
async def test_an_answer_that_is_not_whole_is_never_taken_for_one(script: Script) -> None:
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        with pytest.raises(StreamBroken):
            await ask(transport, peer)

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


async def test_what_came_before_the_break_can_be_read() -> None:
    async with playing([chunked(b"fi", b"rst", end=b""), CLOSE]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        came: list[bytes] = []
        while sum(map(len, came)) < 5:
            came.append(await response.read())
        with pytest.raises(response.broken_by):
            await response.read()
        response.release()

        assert b"".join(came) == b"first"


@pytest.mark.parametrize(
    ("fields", "is_encoded"),
    [
        (("content-encoding: gzip",), True),
        (("Content-Encoding: GZIP ",), True),
        (("content-encoding: gzip", "content-encoding: identity"), True),
        (("content-encoding: identity",), False),
        (("content-encoding:",), False),
        (("x-encoding: gzip",), False),
    ],
)
async def test_a_compressed_answer_is_known_by_its_head(
    fields: tuple[str, ...], is_encoded: bool
) -> None:
    async with playing([answer(b"first", *fields)]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        response.release()

        assert response.is_encoded is is_encoded


async def test_of_a_field_that_comes_twice_the_last_counts() -> None:
    async with (
        playing([answer(b"", "Retry-After: 1", "retry-after: \t2 ")]) as peer,
        connecting() as transport,
    ):
        assert (await ask(transport, peer)).headers["retry-after"].strip() == "2"


KEPT_1_0 = (
    [answer(b"first", "connection: keep-alive").replace(b"1.1", b"1.0")],
    *(200, b"first", True),
)

# What our own parser does, and httpx's does not: it is more lenient, or waits for more.
STRICT: dict[str, Script] = {
    "no HTTP": [b"SSH-2.0-OpenSSH\r\n", HOLD],
    "an unknown version": [b"HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n", HOLD],
    "a folded field": [OK + b"a: b\r\n c\r\ncontent-length: 0\r\n\r\n", HOLD],
    "bare LF": [b"HTTP/1.1 200 OK\ncontent-length: 0\n\n", HOLD],
    "a length that overflows": [OK + b"content-length: 18446744073709551617\r\n\r\na", HOLD],
    "a size that overflows": [CHUNKED + b"f0000000000000001\r\na", HOLD],
    "bare LF behind a size": [CHUNKED + b"1\na\n0\n\n", HOLD],
    "an unknown transfer encoding": [OK + b"transfer-encoding: gzip\r\n\r\nfirst", CLOSE],
}


@pytest.mark.parametrize("script", [pytest.param(STRICT[name], id=name) for name in STRICT])
@pytest.mark.direct
async def test_our_own_connections_take_no_answer_that_can_be_read_in_two_ways(
    script: Script,
) -> None:
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        with pytest.raises((ProviderUnavailable, StreamBroken)):
            await ask(transport, peer)

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


@pytest.mark.direct
async def test_our_own_connections_of_http_1_0_are_kept_when_the_provider_says_so() -> None:
    script, status, body, _ = KEPT_1_0
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        first = await ask(transport, peer)
        second = await ask(transport, peer)

        assert (first.status, first.body, second.body) == (status, body, b"second")
        assert peer.connections == 1
