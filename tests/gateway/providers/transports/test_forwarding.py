"""Pieces of an answer, handed over as they arrive (docs/adr/0028)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import IncompleteResponse
from gateway.providers.transports.direct_response import HIGH_WATER_BYTES, DirectResponse
from tests.gateway.providers.transports import peer
from tests.support.waiting import async_wait_until

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DEADLINE_S = 60
# The event loop hands over at most so much at a time.
READ_BYTES = 256 * 1024

Send = Callable[[bytes], Awaitable[None]]
Use = Callable[[Any, Send], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def with_answer(use: Use, *, head: bytes = HEAD) -> None:
    """Give `use` an answer whose head has arrived, and a way to send what is to follow it; no
    bytes close the connection."""
    uvloop.run(asyncio.wait_for(_with_answer(use, head), DEADLINE_S))


async def _with_answer(use: Use, head: bytes) -> None:
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)

    async def send(data: bytes) -> None:
        if data:
            writers[0].write(data)
            await writers[0].drain()
        else:
            writers[0].close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = peer.make_transport(5, peer.PLAIN)
    request = UpstreamRequest(url=f"http://127.0.0.1:{port}/", headers={}, body=b"")
    response = await transport.open(request)
    try:
        await use(response, send)
    finally:
        response.release()
        await transport.aclose()
        for writer in writers:
            writer.close()
        server.close()


class Taker:
    """Takes pieces, until it is told to refuse one; what it has can be waited for."""

    def __init__(self, *, refuses: bytes = b"") -> None:
        self.taken = b""
        self._refuses = refuses
        self._changed = asyncio.Event()

    def take(self, piece: bytes) -> bool:
        self.taken += piece
        self._changed.set()
        return not self._refuses or self._refuses not in piece

    async def has(self, data: bytes) -> None:
        while self.taken != data:
            self._changed.clear()
            await self._changed.wait()


def test_the_loop_goes_around_between_the_pieces_of_a_flood() -> None:
    """A flood of short events takes the loop long, and others have calls as well."""
    turns: list[int] = []
    pieces: list[int] = []

    def take(piece: bytes) -> bool:
        pieces.append(len(piece))
        asyncio.get_running_loop().call_soon(turns.append, len(pieces))
        return True

    async def use(response: DirectResponse, send: Send) -> None:
        forwarding = asyncio.ensure_future(response.forward(take))
        await asyncio.sleep(0)
        await send(chunk(b": nothing\n\n" * 50_000) + END)
        assert not await forwarding

    with_answer(use)
    assert sum(pieces) == 550_000
    # Each piece had its turn before the next one.
    assert turns[:-1] == list(range(1, len(pieces)))[: len(turns) - 1]
    assert len(turns) >= len(pieces) - 1


def test_every_piece_is_taken_as_it_arrives_and_the_end_is_told() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker()
        forwarding = asyncio.ensure_future(response.forward(taker.take))
        for sent in (b"one", b"onetwo", b"onetwothree"):
            await send(chunk(sent[len(taker.taken) :]))
            await taker.has(sent)
            assert not forwarding.done()
        await send(END)

        assert await forwarding is False

    with_answer(use)


def test_a_piece_refused_is_the_last_until_forwarding_goes_on() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker(refuses=b"full")
        forwarding = asyncio.ensure_future(response.forward(taker.take))
        await send(chunk(b"a"))
        await taker.has(b"a")
        await send(chunk(b"full"))
        assert await forwarding is True
        await send(chunk(b"later") + END)
        await asyncio.sleep(0.05)
        assert taker.taken == b"afull"

        assert await response.forward(taker.take) is False
        assert taker.taken == b"afulllater"

    with_answer(use)


def test_what_came_with_the_head_is_taken_first() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker()
        await send(END)

        assert await response.forward(taker.take) is False
        assert taker.taken == b"early"

    with_answer(use, head=HEAD + chunk(b"early"))


def test_an_exception_of_the_taker_reaches_who_forwards() -> None:
    def take(piece: bytes) -> bool:
        raise LookupError(piece)

    async def use(response: DirectResponse, send: Send) -> None:
        forwarding = asyncio.ensure_future(response.forward(take))
        await asyncio.sleep(0.05)
        await send(chunk(b"x"))

        with pytest.raises(LookupError):
            await forwarding

    with_answer(use)


def test_a_break_comes_behind_the_last_piece() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker()
        forwarding = asyncio.ensure_future(response.forward(taker.take))
        await send(chunk(b"last"))
        await send(b"")

        with pytest.raises(IncompleteResponse):
            await forwarding
        assert taker.taken == b"last"

    with_answer(use)


def test_one_who_is_cancelled_is_handed_nothing_more() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker()
        forwarding = asyncio.ensure_future(response.forward(taker.take))
        await send(chunk(b"a"))
        await taker.has(b"a")
        forwarding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forwarding
        await send(chunk(b"b"))
        await asyncio.sleep(0.05)

        assert taker.taken == b"a"

    with_answer(use)


@pytest.mark.direct
def test_nothing_is_read_ahead_beyond_the_high_water_mark() -> None:
    async def use(response: DirectResponse, send: Send) -> None:
        taker = Taker(refuses=b"x")
        data = b"x" * (64 * HIGH_WATER_BYTES)
        sending = asyncio.ensure_future(send(chunk(data) + END))
        assert await response.forward(taker.take) is True

        async def is_paused() -> bool:
            return response.is_paused

        await async_wait_until(is_paused, what="the reading to be paused")
        await asyncio.sleep(0.05)
        # How much of the rest is still to be sent says nothing: the system takes some megabytes.
        assert response.size_bytes <= HIGH_WATER_BYTES + READ_BYTES

        while await response.forward(taker.take):
            pass
        await sending
        assert taker.taken == data

    with_answer(use)
