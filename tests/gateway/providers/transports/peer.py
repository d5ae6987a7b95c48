"""A provider that plays scripts of raw bytes in the test's own loop, and calls to it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from gateway.core.provider_connection import ConnectionSettings
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports import direct, httpx_connection, httpx_transport
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.direct import DirectTransport
from gateway.providers.transports.direct_response import DirectResponse
from gateway.providers.transports.httpx_stream import SocketStream
from gateway.providers.transports.httpx_transport import (
    HttpxResponse,
    HttpxTransport,
)
from gateway.providers.transports.loop_quotas import LoopQuotas
from gateway.providers.transports.response_body import read_body
from tests.support.waiting import async_wait_until

DEADLINE_S = 60
# Long enough for a loop that is alive to have read what was written before.
BREATH_S = 0.01

CLOSE = "close"  # after all that was written
HALF_CLOSE = "half close"  # no more is said, but still listened
RESET = "reset"
HOLD = "hold"  # until the other side ends the connection
TRUNCATE = "truncate"  # TLS: close the socket without the alert that says so
EARLY = "early"  # first step only: do not wait for the request's body

# What is done about one request. Bytes are written as a segment of their own.
Script = Sequence[bytes | str]


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def answer(body: bytes = b"", *fields: str, status: str = "200 OK") -> bytes:
    """Return an answer with a content-length."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *fields, f"content-length: {len(body)}", "", ""])
    return head.encode() + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return an answer in chunks."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body + end


class Peer:
    """scripts: one for each request, in the order in which requests come.

    requests: what came, heads and bodies. connections: how many there were. ended: how many of
    them are over. was_asked: set when a request has come.
    """

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.requests: list[bytes] = []
        self.was_asked = asyncio.Event()
        self.connections = 0
        self.ended = 0
        self.asked_names: list[str | None] = []
        self.url = ""
        self.sockets: list[socket.socket] = []
        self._scripts = list(scripts)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        own = socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno()))
        self.sockets.append(own)
        try:
            while await self._exchange(reader, writer, own):
                pass
        # uvloop's word for a closed connection is RuntimeError; cancelled is the end of the test.
        except (OSError, RuntimeError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.ended += 1
            own.close()
            writer.transport.abort()
            self._tasks.discard(task)

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: socket.socket
    ) -> bool:
        """Play one script. Returns whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        script = list(self._scripts.pop(0))
        if script[0] == EARLY:
            script.pop(0)
            self.requests.append(head)
        else:
            found = re.search(rb"content-length: (\d+)", head)
            assert found is not None
            self.requests.append(head + await reader.readexactly(int(found[1])))
        self.was_asked.set()
        for step in script:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                await asyncio.sleep(BREATH_S)
            elif not await self._end(step, reader, writer, own):
                return False
        return True

    async def _end(
        self, step: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: Any
    ) -> bool:
        if step == RESET:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif step == HOLD:
            while await reader.read(65536):
                pass
        elif step == HALF_CLOSE:
            writer.write_eof()
            return True
        elif step == TRUNCATE:
            own.shutdown(socket.SHUT_RDWR)
        else:
            writer.close()
            await writer.wait_closed()
        return False

    def half_close_now(self) -> None:
        """End what is said on the last connection before anybody's loop turns again."""
        self.sockets[-1].shutdown(socket.SHUT_WR)

    def write_now(self, data: bytes) -> None:
        self.sockets[-1].send(data)

    async def all_ended(self) -> None:
        """Wait until every connection is over."""

        async def is_over() -> bool:
            return self.ended == self.connections

        await async_wait_until(is_over, what="the connections to end")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def playing(
    *scripts: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, name: str = ""
) -> AsyncIterator[Peer]:
    """Serve the scripts on a port of their own; name is what the URL says instead of the host."""
    peer = Peer(scripts)
    if tls is not None:
        tls.sni_callback = lambda _socket, asked, _context: peer.asked_names.append(asked)
    server = await asyncio.start_server(peer.serve, host, 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    place = name or (f"[{host}]" if ":" in host else host)
    peer.url = f"{'http' if tls is None else 'https'}://{place}:{port}/v1/chat/completions"
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield peer
    finally:
        server.close()
        await peer.stop()


def make_direct(connect_s: float, settings: ConnectionSettings) -> DirectTransport:
    return DirectTransport(connect_s=connect_s)


def make_httpx(connect_s: float, settings: ConnectionSettings) -> HttpxTransport:
    quotas = LoopQuotas(asyncio.get_running_loop())
    return HttpxTransport(settings, connect_s=connect_s, dialer=Dialer(), quotas=quotas)


PLAIN = ConnectionSettings()
# What connecting() makes; the fixture every_transport has each in turn.
make_transport: Callable[[float, ConnectionSettings], DirectTransport | HttpxTransport]
make_transport = make_direct


@asynccontextmanager
async def connecting(
    settings: ConnectionSettings = PLAIN, *, connect_s: float = DEADLINE_S
) -> AsyncIterator[Any]:
    transport = make_transport(connect_s, settings)
    try:
        yield transport
    finally:
        await transport.aclose()
        await asyncio.sleep(0)


def count_open(transport: Transport) -> int:
    """Return how many connections our side has."""
    if isinstance(transport, HttpxTransport):
        return transport.connection_count
    assert isinstance(transport, DirectTransport)
    return len(transport._alive)


def dialer_of(transport: Transport) -> Dialer:
    if isinstance(transport, HttpxTransport):
        return transport._pool._dialer
    assert isinstance(transport, DirectTransport)
    return transport._dialer


def held_bytes(response: UpstreamResponse) -> int:
    """Return how much of an answer lies in memory on our side."""
    if isinstance(response, DirectResponse):
        return response.size_bytes
    assert isinstance(response, HttpxResponse)
    stream: SocketStream = response._response.extensions["network_stream"]
    return len(stream._received) + len(response._left)


def close_soon(monkeypatch: pytest.MonkeyPatch, *, sweep_s: float) -> None:
    monkeypatch.setattr(direct, "KEEPALIVE_S", 0.0)
    monkeypatch.setattr(httpx_connection, "KEEPALIVE_S", 0.0)
    for module in (direct, httpx_transport):
        monkeypatch.setattr(module, "SWEEP_S", sweep_s)


def request(
    peer: Peer | str, body: bytes = b"{}", headers: Mapping[str, str] | None = None
) -> UpstreamRequest:
    url = peer if isinstance(peer, str) else peer.url
    return UpstreamRequest(url=url, headers=headers or {"accept": "*/*"}, body=body)


async def ask(transport: Transport, peer: Peer | str, body: bytes = b"{}") -> Answer:
    """Make one call. Raises what the transport raises."""
    response = await transport.open(request(peer, body))
    try:
        return Answer(response.status, response.headers, await read_body(response))
    finally:
        response.release()


async def ask_within(
    transport: Transport, peer: Peer, wait_s: float, body: bytes = b"{}"
) -> Answer | None:
    """Make a call, and give it up so long after the peer got it. Raises what the call raises."""
    call = asyncio.create_task(ask(transport, peer, body))
    await peer.was_asked.wait()
    await asyncio.wait([call], timeout=wait_s)
    if call.cancel():
        await asyncio.wait([call])
        return None
    return call.result()
