"""What a connection keeps of a request that has been answered: nothing."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

from gateway.edge.discarding import SLICE_BYTES, Discarding
from gateway.edge.limits import MAX_SMALL_PIECES
from tests.corpus.connection import Connection, Guarded
from tests.corpus.wire import request
from tests.support.waiting import async_wait_until

LENGTH = [(b"content-length", b"2")]


@pytest.mark.parametrize("headers", [LENGTH, []], ids=["whole", "in pieces"])
@pytest.mark.parametrize("status", [200, 404])
async def test_an_answered_request_goes_at_once(
    headers: list[tuple[bytes, bytes]], status: int
) -> None:
    replies: list[ref[Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        replies.append(ref(send.__self__))
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"ab"})

    gc.collect()
    gc.disable()
    try:
        connection = Connection(application)
        for _ in range(3):
            await connection.say(request())

        # The last one is what the connection looks at when the next one comes.
        assert [reply() is None for reply in replies] == [True, True, False]
    finally:
        gc.enable()


async def test_a_request_whose_caller_left_goes_at_once() -> None:
    replies: list[ref[Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        replies.append(ref(send.__self__))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass

    gc.collect()
    gc.disable()
    try:
        connection = Connection(application)
        await connection.say(request())
        assert replies[0]() is not None

        connection.protocol.connection_lost(None)
        await connection.rest()
        del connection

        assert replies[0]() is None
    finally:
        gc.enable()


async def test_a_short_body_in_very_many_pieces_is_refused_early() -> None:
    """Each piece costs the loop as much as a long one, in a body of any length."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    connection = Connection(application)
    head = request("Transfer-Encoding: chunked", body=b"", sized=False)

    await connection.say(head + b"1\r\n \r\n" * (MAX_SMALL_PIECES + 100))

    assert b"400" in connection.wire.written
    assert b"chunks" in connection.wire.written


async def test_what_is_thrown_away_is_read_so_fast_and_no_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the answer, and by all connections together: reading on is for the caller's sake."""
    # The limiter is that of all tests: a slice that began in another test's loop never ends.
    monkeypatch.setattr(Guarded.limiter, "discarding", Discarding())

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b"no"})

    endless = request("Content-Length: 999999999", body=b"", sized=False)
    one, other = Connection(application), Connection(application)
    for connection in (one, other):
        await connection.say(endless)
        assert b"404" in connection.wire.written
        connection.wire.is_closed = False  # a socket is closed for writing only, by then
    half = b" " * (SLICE_BYTES // 2)

    def paused() -> list[bool]:
        return [connection.wire.is_paused for connection in (one, other)]

    async def all_read() -> bool:
        return not any(paused())

    # Without letting the loop run: the next slice would begin.
    for piece in (half, half, b" "):
        one.protocol.data_received(piece)
    other.protocol.data_received(b" ")

    assert paused() == [True, True]
    await async_wait_until(all_read)
