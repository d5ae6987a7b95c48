"""Providers behind TLS: who is believed, and that nothing is said to anybody else."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.core.errors import ProviderUnreachable, StreamBroken
from gateway.providers.transports.base import Transport
from tests.gateway.providers.transports.certificates import LIFE, Authority
from tests.gateway.providers.transports.peer import (
    BREATH_S,
    CLOSE,
    DEADLINE_S,
    HOLD,
    TRUNCATE,
    Script,
    answer,
    ask,
    chunked,
    connecting,
    count_open,
    dialer_of,
    playing,
    request,
)

SECOND = answer(b"second")
LARGE = bytes(range(256)) * 4096 * 8  # 8 MiB
UNTIL_END = b"HTTP/1.1 200 OK\r\n\r\nfirst"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """Whom the transport trusts."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return authority


@pytest.mark.parametrize(
    ("host", "name", "asked"),
    [("127.0.0.1", "localhost", "localhost"), ("127.0.0.1", "", None), ("::1", "", None)],
)
async def test_a_provider_with_a_good_certificate_is_asked(
    authority: Authority, host: str, name: str, asked: str | None
) -> None:
    tls = authority.server_context("localhost", "127.0.0.1", "::1")
    async with (
        playing([answer(b"first")], [SECOND], host=host, name=name, tls=tls) as peer,
        connecting() as transport,
    ):
        assert (await ask(transport, peer)).body == b"first"
        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 1
        assert peer.asked_names == [asked]


def know(transport: Transport, name: str, port: int) -> None:
    """Let the transport have looked up a name of this machine's."""
    found = asyncio.get_running_loop().create_future()
    found.set_result([(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))])
    dialer_of(transport).dns._asked[name, port] = (time.monotonic(), found)


async def test_a_dot_at_the_end_of_a_name_is_none_of_the_certificates(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing([answer(b"first")], name="localhost.", tls=tls) as peer,
        connecting() as transport,
    ):
        port = int(peer.url.split(":")[2].split("/")[0])
        know(transport, "localhost.", port)  # not every system does
        assert (await ask(transport, peer)).body == b"first"
        assert peer.asked_names == ["localhost"]
        assert b"\r\nhost: localhost:" in peer.requests[0]


def self_signed(authority: Authority) -> ssl.SSLContext:
    return authority.server_context("localhost", is_own=True)


def expired(authority: Authority) -> ssl.SSLContext:
    return authority.server_context("localhost", age=LIFE)


def of_tomorrow(authority: Authority) -> ssl.SSLContext:
    return authority.server_context("localhost", age=-timedelta(days=1))


def of_another(authority: Authority) -> ssl.SSLContext:
    return authority.server_context("localhost.example", "127.0.0.1")


@pytest.mark.parametrize("make", [self_signed, expired, of_tomorrow, of_another])
async def test_nothing_is_said_to_a_provider_without_a_good_certificate(
    authority: Authority, make: Callable[[Authority], ssl.SSLContext]
) -> None:
    async with (
        playing([SECOND], name="localhost", tls=make(authority)) as peer,
        connecting() as transport,
    ):
        with pytest.raises(ProviderUnreachable, match=r"could not be reached"):
            await ask(transport, peer)

        assert peer.requests == []
        assert count_open(transport) == 0


async def test_an_authority_that_nobody_named_is_not_believed(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    tls = authority.server_context("localhost")
    async with playing([SECOND], name="localhost", tls=tls) as peer, connecting() as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, peer)

        assert peer.requests == []


async def test_a_provider_that_does_not_speak_tls_is_told_nothing(authority: Authority) -> None:
    heard = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(65536))
        writer.write(answer(b"You are speaking plain HTTP.", status="400 Bad Request"))
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server, connecting() as transport:
        with pytest.raises(ProviderUnreachable):
            await ask(transport, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

        assert b"POST" not in b"".join(heard)


async def test_a_handshake_that_nobody_answers_ends_with_the_time_to_connect(
    authority: Authority,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        async with connecting(connect_s=0.2) as transport:
            with pytest.raises(ProviderUnreachable):
                await ask(transport, url)


async def test_a_call_given_up_in_the_handshake_leaves_no_socket(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        async with connecting() as transport, asyncio.timeout(DEADLINE_S):
            calls = [asyncio.create_task(ask(transport, url)) for _ in range(3)]
            loop = asyncio.get_running_loop()
            accepted = [(await loop.sock_accept(server))[0] for _ in calls]
            for one in accepted:
                await loop.sock_recv(one, 1)
            for call in calls:
                call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)

            assert [type(end) for end in ends] == [asyncio.CancelledError] * 3
            for one in accepted:
                while await loop.sock_recv(one, 65536):
                    pass
                one.close()
            assert count_open(transport) == 0


@pytest.mark.parametrize(
    ("script", "body"),
    [
        ([answer(LARGE)], LARGE),
        ([chunked(LARGE)], LARGE),
        ([UNTIL_END, CLOSE], b"first"),
        ([answer(b"first"), CLOSE], b"first"),
    ],
    ids=["length", "chunks", "until the end", "closed"],
)
async def test_whole_answers_over_tls(authority: Authority, script: Script, body: bytes) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing(script, [SECOND], name="localhost", tls=tls) as peer,
        connecting() as transport,
    ):
        first = await ask(transport, peer, LARGE)
        if CLOSE in script:
            await peer.all_ended()

        assert first.body == body
        assert peer.requests[0].endswith(LARGE)
        assert (await ask(transport, peer)).body == b"second"


@pytest.mark.parametrize(
    "script",
    [[UNTIL_END, TRUNCATE], [answer(b"first")[:-1], CLOSE], [chunked(b"first", end=b""), CLOSE]],
    ids=["no farewell", "length", "chunks"],
)
async def test_an_answer_cut_off_by_anybody_on_the_way_is_not_whole(
    authority: Authority, script: Script
) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing(script, [SECOND], name="localhost", tls=tls) as peer,
        connecting() as transport,
    ):
        with pytest.raises(StreamBroken):
            await ask(transport, peer)

        assert (await ask(transport, peer)).body == b"second"


@pytest.mark.parametrize(
    "whole",
    [answer(LARGE, "connection: close"), chunked(LARGE), b"HTTP/1.1 200 OK\r\n\r\n" + LARGE],
    ids=["length", "chunks", "until the end"],
)
async def test_a_slow_reader_never_takes_a_part_for_the_whole(
    authority: Authority, whole: bytes
) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing([whole, CLOSE], name="localhost", tls=tls) as peer,
        connecting() as transport,
    ):
        response = await transport.open(request(peer))
        body = b""
        with suppress(*response.broken_by):
            while piece := await response.read():
                body += piece
                if len(LARGE) - len(body) < 500_000:
                    await asyncio.sleep(BREATH_S)
            assert body == LARGE
        response.release()


async def test_calls_given_up_over_tls_end_their_connections(authority: Authority) -> None:
    tls = authority.server_context("localhost")
    async with (
        playing([answer(LARGE), HOLD], [SECOND], name="localhost", tls=tls) as peer,
        connecting() as transport,
    ):
        response = await transport.open(request(peer))
        await response.read()
        response.release()
        await peer.all_ended()

        assert (await ask(transport, peer)).body == b"second"
        assert peer.connections == 2
