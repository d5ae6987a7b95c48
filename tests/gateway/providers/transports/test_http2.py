"""HTTP/2: calls share a connection, and none can hurt another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.core.errors import ProviderUnavailable, StreamBroken
from gateway.core.provider_connection import ConnectionSettings
from gateway.providers.transports import httpx_connection
from gateway.providers.transports.base import IncompleteResponse
from gateway.providers.transports.response_body import read_body
from tests.gateway.providers.transports.certificates import Authority
from tests.gateway.providers.transports.http2_peer import Call, serving_http2
from tests.gateway.providers.transports.peer import answer, ask, connecting, playing, request
from tests.support.waiting import async_wait_until

pytestmark = pytest.mark.httpx
CANCEL = 8
LARGE = bytes(range(256)) * 4096 * 4  # 4 MiB


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def over_http2(authority: Authority) -> ConnectionSettings:
    return ConnectionSettings(http2=True, ca_certificate=authority.path.read_text())


async def echo(call: Call) -> None:
    call.head()
    await call.send(bytes(call.body), end=True)


async def hold(call: Call) -> None:
    """Send a piece of body, and no more until the test says so by a reset."""
    call.head()
    await call.send(b"first")
    await call.is_reset.wait()


async def test_calls_one_after_the_other_and_at_once_share_a_connection(
    authority: Authority,
) -> None:
    tls = authority.server_context("localhost")
    async with (
        serving_http2(echo, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        bodies = [b"%d" % number for number in range(20)]
        assert (await ask(transport, peer.url, b"before")).body == b"before"
        answers = await asyncio.gather(*(ask(transport, peer.url, body) for body in bodies))

        assert [each.body for each in answers] == bodies
        assert peer.connections == 1


async def test_a_server_that_names_no_limit_gets_calls_at_once(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    async with (
        serving_http2(hold, tls, most_at_once=None) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        responses = [await transport.open(request(peer.url)) for _ in range(3)]
        for response in responses:
            assert await response.read() == b"first"
            response.release()

        assert peer.connections == 1


async def test_more_calls_than_a_server_takes_go_on_another_connection(
    authority: Authority,
) -> None:
    tls = authority.server_context("localhost")
    async with (
        serving_http2(hold, tls, most_at_once=2) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        responses = [await transport.open(request(peer.url)) for _ in range(5)]

        assert peer.connections == 3
        for response in responses:
            response.release()


@pytest.mark.parametrize("when", ["before the head", "in the body"])
async def test_a_call_that_is_given_up_is_reset_and_hurts_no_other(
    authority: Authority, when: str
) -> None:
    goes_on = asyncio.Event()

    async def act(call: Call) -> None:
        if call.body == b"other":
            call.head()
            await call.send(b"fi")
            await goes_on.wait()
            await call.send(b"rst", end=True)
        elif when == "before the head":
            await call.is_reset.wait()
        else:
            await hold(call)

    tls = authority.server_context("localhost")
    async with (
        serving_http2(act, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        other = await transport.open(request(peer.url, b"other"))
        given_up = asyncio.create_task(ask(transport, peer.url, b"given up"))

        async def have_both_come() -> bool:
            return len(peer.calls) == 2

        await async_wait_until(have_both_come)
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.wait([given_up])
        await peer.calls[1].is_reset.wait()
        goes_on.set()

        assert peer.calls[1].reset_code == CANCEL
        assert await read_body(other) == b"first"
        other.release()
        assert peer.calls[0].reset_code is None
        assert peer.connections == 1
        assert peer.ended == 0


async def test_answers_given_up_unread_leave_their_room_to_others(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httpx_connection, "CONNECTION_WINDOW_BYTES", 2 * 1024 * 1024)

    async def act(call: Call) -> None:
        call.head()
        await call.send(LARGE if call.body == b"large" else LARGE[: 512 * 1024], end=True)

    tls = authority.server_context("localhost")
    async with (
        serving_http2(act, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        for _ in range(30):
            response = await transport.open(request(peer.url))
            await response.read()
            response.release()

        assert (await ask(transport, peer.url, b"large")).body == LARGE
        assert peer.connections == 1


async def test_an_answer_waits_for_its_reader_and_holds_up_no_other(authority: Authority) -> None:
    async def act(call: Call) -> None:
        call.head()
        await call.send(LARGE if call.body == b"large" else b"small", end=True)

    tls = authority.server_context("localhost")
    async with (
        serving_http2(act, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        slow = await transport.open(request(peer.url, b"large"))
        for _ in range(20):
            assert (await ask(transport, peer.url)).body == b"small"

        assert await read_body(slow) == LARGE
        slow.release()


async def test_a_large_request_arrives_whole(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    async with (
        serving_http2(echo, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        assert (await ask(transport, peer.url, LARGE)).body == LARGE


async def test_a_connection_that_ends_breaks_its_calls_off(authority: Authority) -> None:
    async def act(call: Call) -> None:
        if call.body != b"headless":
            call.head()
            await call.send(b"first")
        await asyncio.sleep(0.05)
        assert call.connection.transport is not None
        call.connection.transport.abort()

    tls = authority.server_context("localhost")
    async with (
        serving_http2(act, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        response = await transport.open(request(peer.url))
        assert await response.read() == b"first"
        with pytest.raises(IncompleteResponse):
            await response.read()
        response.release()

        sent = request(peer.url, b"headless")
        with pytest.raises(ProviderUnavailable):
            await transport.open(sent)
        assert sent.was_sent


async def ping(call: Call) -> None:
    for _ in range(100):
        call.connection.state.ping(b"12345678")


async def send_nothing(call: Call) -> None:
    for _ in range(100):
        call.connection.state.send_data(call.stream_id, b"")


async def send_hints(call: Call) -> None:
    call.connection.state.send_headers(call.stream_id, [(":status", "103"), ("x", "y" * 200)])


@pytest.mark.parametrize("flood", [ping, send_nothing, send_hints])
async def test_a_flood_of_what_is_no_body_ends_the_call(authority: Authority, flood: Any) -> None:
    async def act(call: Call) -> None:
        if flood is not send_hints:
            call.head()
        for _ in range(2_000):
            await flood(call)
            call.connection.flush()
            await asyncio.sleep(0)

    tls = authority.server_context("localhost")
    async with (
        serving_http2(act, tls) as peer,
        connecting(over_http2(authority)) as transport,
    ):
        with pytest.raises((ProviderUnavailable, StreamBroken)):
            await ask(transport, peer.url)


@pytest.mark.parametrize("attempt", range(5))
async def test_a_server_without_http2_is_spoken_to_in_http1(
    authority: Authority, attempt: int
) -> None:
    """Calls that wait for one connection take it one after another, and the end of a call is not
    the end of the next. Which call meets which end is left to chance: hence many, five times."""
    tls = authority.server_context("localhost")
    scripts = [[answer(b"first")]] * 40
    async with (
        playing(*scripts, tls=tls, name="localhost") as peer,
        connecting(over_http2(authority)) as transport,
    ):
        answers = await asyncio.gather(*(ask(transport, peer) for _ in range(40)))

        assert [each.body for each in answers] == [b"first"] * 40
