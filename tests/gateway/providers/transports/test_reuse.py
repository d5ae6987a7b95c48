"""When a connection carries another call, and when it does not."""

from __future__ import annotations

import asyncio

import pytest

from gateway.core.errors import ProviderUnavailable, ProviderUnreachable
from gateway.providers.transports import direct
from gateway.providers.transports.base import Transport
from gateway.providers.transports.direct_response import HIGH_WATER_BYTES
from gateway.providers.transports.response_body import read_error_body
from tests.gateway.providers.transports.peer import (
    CLOSE,
    EARLY,
    HALF_CLOSE,
    HOLD,
    RESET,
    Script,
    answer,
    ask,
    ask_within,
    chunked,
    close_soon,
    connecting,
    count_open,
    held_bytes,
    playing,
    request,
)
from tests.support.waiting import async_wait_until

FIRST, SECOND = answer(b"first"), answer(b"second")
LARGE = bytes(range(256)) * 4096 * 8  # 8 MiB
HUGE_REQUEST = b" " * 50_000_000


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with playing(*[[answer(b"%d" % n)] for n in range(20)]) as peer:
        async with connecting() as transport:
            bodies = [(await ask(transport, peer)).body for _ in range(20)]

        assert bodies == [b"%d" % n for n in range(20)]
        assert peer.connections == 1


async def test_calls_at_once_have_a_connection_each() -> None:
    async with playing(*[[answer(b"%d" % n)] for n in range(20)]) as peer:
        async with connecting() as transport:
            answers = await asyncio.gather(*[ask(transport, peer) for _ in range(10)])
            more = await asyncio.gather(*[ask(transport, peer) for _ in range(10)])

        assert {one.body for one in [*answers, *more]} == {b"%d" % n for n in range(20)}
        assert peer.connections == 10


async def test_paths_of_one_origin_share_connections() -> None:
    async with playing([FIRST], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        await ask(transport, peer.url.replace("/v1/", "/v2/"))

        assert peer.connections == 1
        assert [came.split()[1] for came in peer.requests] == [
            b"/v1/chat/completions",
            b"/v2/chat/completions",
        ]


async def all_noticed(transport: Transport) -> None:
    """Wait until our side, too, has seen every connection end."""

    async def is_none_left() -> bool:
        return not count_open(transport)

    await async_wait_until(is_none_left, what="our side to notice")


@pytest.mark.parametrize(
    "end",
    [[CLOSE], [HALF_CLOSE, HOLD], [RESET], [FIRST, HOLD], [b"\r\n", HOLD], [b"x", HOLD]],
    ids=["close", "half close", "reset", "answer", "line end", "byte"],
)
async def test_a_connection_on_which_something_came_unasked_is_not_used_again(end: Script) -> None:
    async with playing([FIRST, *end], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        await peer.all_ended()
        await all_noticed(transport)

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


@pytest.mark.direct
@pytest.mark.parametrize(
    "end",
    [[FIRST, HOLD], [b"\0", HOLD], [CLOSE], [HALF_CLOSE, HOLD], [RESET]],
    ids=["answer", "byte", "close", "half close", "reset"],
)
async def test_what_comes_behind_an_answer_before_it_is_read_ends_the_connection(
    end: Script,
) -> None:
    async with playing([FIRST, *end], [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        await peer.all_ended()
        await all_noticed(transport)
        body = await response.read() + await response.read()
        response.release()

        assert body == b"first"
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


@pytest.mark.parametrize("event", ["end", "answer"])
async def test_a_connection_that_waited_is_looked_at_before_it_is_used(
    event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "FRESH_S", 0.0)
    async with playing([FIRST, HOLD], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)

        # The loop does not turn between this and the next request.
        if event == "end":
            peer.half_close_now()
        else:
            peer.write_now(answer(b"of nobody"))

        assert (await ask(transport, peer)).body == b"second"


@pytest.mark.direct
async def test_a_request_on_a_connection_that_had_ended_counts_as_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct, "FRESH_S", 30.0)
    async with playing([FIRST, HOLD], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        peer.half_close_now()

        with pytest.raises(ProviderUnavailable):
            await ask(transport, peer)

        assert peer.connections == 1


@pytest.mark.parametrize("end", [CLOSE, RESET, HALF_CLOSE])
async def test_a_second_request_that_gets_no_answer_is_not_sent_again(end: str) -> None:
    async with playing([FIRST], [end, HOLD], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        with pytest.raises(ProviderUnavailable):
            await ask(transport, peer)

        assert len(peer.requests) == 2
        assert peer.connections == 1


async def test_a_large_answer_waits_for_its_reader() -> None:
    async with playing([answer(LARGE)], [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        await asyncio.sleep(0.1)
        held = held_bytes(response)
        pieces = []
        while piece := await response.read():
            pieces.append(piece)
        response.release()

        assert held <= HIGH_WATER_BYTES + 256 * 1024
        assert b"".join(pieces) == LARGE
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 1


@pytest.mark.parametrize("body", [LARGE, LARGE[: 2 * HIGH_WATER_BYTES]], ids=["more", "all there"])
@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_nothing_of_an_answer_given_up_half_read_reaches_the_next_call(
    body: bytes, pieces: int
) -> None:
    async with playing([answer(body)], [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        for _ in range(pieces):
            await response.read()
        await asyncio.sleep(0.02)
        response.release()

        assert (await ask(transport, peer)).body == b"second"


async def test_an_end_that_is_near_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.providers.transports.direct_response.READ_REST_S", 30.0)
    script = [chunked(b"data: [DONE]\n\n", end=b""), b"0\r\n\r\n"]
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        await response.read()
        await response.read_rest()
        response.release()

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 1


@pytest.mark.parametrize("rest", [[HOLD], [CLOSE], [*[b"1\r\nx\r\n"] * 200, HOLD]])
async def test_an_end_that_is_not_near_is_not(rest: Script) -> None:
    script = [chunked(b"data: [DONE]\n\n", end=b""), *rest]
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        await response.read()
        await response.read_rest()
        response.release()
        await peer.all_ended()

        assert (await ask(transport, peer)).body == b"second"


async def test_who_still_reads_what_was_given_up_is_told() -> None:
    async with playing([answer(b"first")[:-1], HOLD]) as peer, connecting() as transport:
        response = await transport.open(request(peer))
        await response.read()
        reading = asyncio.create_task(response.read())
        await asyncio.sleep(0)
        response.release()

        with pytest.raises(response.broken_by):
            await reading


# Large requests


@pytest.mark.parametrize("end", [[CLOSE], [HOLD], [HALF_CLOSE, HOLD]], ids=str)
async def test_a_refusal_before_the_request_was_read_is_read(end: Script) -> None:
    refusal = answer(b"too large", status="413 Content Too Large")
    async with playing([EARLY, refusal, *end], [SECOND]) as peer, connecting() as transport:
        response = await transport.open(request(peer, HUGE_REQUEST))
        body = await read_error_body(response)
        response.release()

        assert (response.status, body) == (413, b"too large")
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


async def test_a_large_request_arrives_whole() -> None:
    async with playing([FIRST], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer, LARGE)
        await ask(transport, peer)

        assert peer.requests[0].endswith(b"\r\n\r\n" + LARGE)
        assert peer.connections == 1


async def test_a_peer_that_ends_without_reading_is_not_waited_for() -> None:
    async with playing([EARLY, HALF_CLOSE, HOLD]) as peer, connecting() as transport:
        with pytest.raises(ProviderUnavailable):
            await ask(transport, peer, HUGE_REQUEST)


# Giving up


@pytest.mark.parametrize("body", [b"{}", HUGE_REQUEST], ids=["small", "large"])
@pytest.mark.parametrize("script", [[HOLD], [b"HTTP/1.1 200", HOLD], [FIRST[:-1], HOLD]])
async def test_a_call_that_is_given_up_ends_its_connection(script: Script, body: bytes) -> None:
    async with playing([EARLY, *script], [SECOND]) as peer, connecting() as transport:
        assert await ask_within(transport, peer, 0.05, body) is None
        await peer.all_ended()

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2


# Idle connections


async def test_a_connection_that_nobody_uses_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    close_soon(monkeypatch, sweep_s=0.02)
    async with playing([FIRST], [SECOND]) as peer, connecting() as transport:
        await ask(transport, peer)
        await peer.all_ended()
        assert (await ask(transport, peer)).body == b"second"
        await peer.all_ended()

        async def is_quiet() -> bool:
            return transport._sweep is None

        await async_wait_until(is_quiet, what="the timer to end with the last connection")


async def test_a_call_in_progress_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    close_soon(monkeypatch, sweep_s=0.005)
    slow = [chunked(b"fi", end=b""), *[b"1\r\nx\r\n"] * 10, b"0\r\n\r\n"]
    async with playing(slow) as peer, connecting() as transport:
        assert (await ask(transport, peer)).body == b"fixxxxxxxxxx"


# The end of the transport


async def test_closing_ends_idle_connections_and_calls() -> None:
    until_end = b"HTTP/1.1 200 OK\r\n\r\nfirst"
    async with playing([FIRST], [until_end, HOLD], [HOLD]) as peer, connecting() as transport:
        await ask(transport, peer)
        response = await transport.open(request(peer))
        waiting = asyncio.create_task(ask(transport, peer))

        async def have_all_come() -> bool:
            return len(peer.requests) == 3

        await async_wait_until(have_all_come)
        await transport.aclose()

        with pytest.raises(ProviderUnavailable):
            await waiting
        assert await response.read() == b"first"
        with pytest.raises(response.broken_by):  # and not its end
            await response.read()
        response.release()
        await peer.all_ended()
        assert transport._sweep is not None
        assert transport._sweep.cancelled()


async def test_no_call_is_begun_after_the_end() -> None:
    async with playing([FIRST]) as peer, connecting() as transport:
        await transport.aclose()

        with pytest.raises(ProviderUnreachable):
            await ask(transport, peer)
        await peer.all_ended()
        assert peer.requests == []
