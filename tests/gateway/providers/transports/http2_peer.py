"""A provider that speaks HTTP/2, by the h2 package, in the test's own loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from tests.gateway.providers.transports.peer import DEADLINE_S

FRAME_BYTES = 16 * 1024


class Call:
    """One request, as the server sees it. is_reset: set when the caller gave it up."""

    def __init__(self, connection: ServerConnection, stream_id: int) -> None:
        self.connection = connection
        self.stream_id = stream_id
        self.body = bytearray()
        self.reset_code: int | None = None
        self.is_reset = asyncio.Event()

    def head(self, status: int = 200, **fields: str) -> None:
        headers = [(":status", str(status)), *fields.items()]
        self.connection.state.send_headers(self.stream_id, headers)
        self.connection.flush()

    async def send(self, data: bytes, *, end: bool = False) -> None:
        """Write body bytes as far as the caller lets us, and the rest when it does."""
        state = self.connection.state
        while data:
            window = state.local_flow_control_window(self.stream_id)
            part = data[: min(window, FRAME_BYTES)]
            if not part:
                await self.connection.moved()
                continue
            state.send_data(self.stream_id, part)
            data = data[len(part) :]
            self.connection.flush()
        if end:
            state.end_stream(self.stream_id)
            self.connection.flush()


Answer = Callable[[Call], Awaitable[None]]


class ServerConnection(asyncio.Protocol):
    def __init__(self, server: Http2Peer) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.state = h2.connection.H2Connection(config)
        self.server = server
        self.transport: asyncio.Transport | None = None
        self.calls: dict[int, Call] = {}
        self._moved = asyncio.Event()

    async def moved(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self.server.connections += 1
        self.server.transports.append(self.transport)
        settings = self.state.local_settings
        if self.server.most_at_once is None:
            del settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS]
        else:
            settings = h2.settings.Settings(
                client=False,
                initial_values={
                    h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.server.most_at_once
                },
            )
            self.state.local_settings = settings
        self.state.initiate_connection()
        self.state.increment_flow_control_window(2**24)
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.state.receive_data(data):
            self._on_event(event)
        self._moved.set()
        self.flush()

    def _on_event(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self.calls[event.stream_id or 0] = Call(self, event.stream_id or 0)
        elif isinstance(event, h2.events.DataReceived):
            self.calls[event.stream_id or 0].body += event.data or b""
            self.state.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id or 0
            )
        elif isinstance(event, h2.events.StreamEnded):
            self.server.begin(self.calls[event.stream_id or 0])
        elif isinstance(event, h2.events.StreamReset):
            call = self.calls[event.stream_id or 0]
            call.reset_code = int(event.error_code or 0)
            call.is_reset.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.ended += 1

    def flush(self) -> None:
        assert self.transport is not None
        self.transport.write(self.state.data_to_send())


class Http2Peer:
    """answer: what is done about each request. most_at_once: calls on a connection, None for no
    word about it. calls: those that came, in their order."""

    def __init__(self, answer: Answer, most_at_once: int | None) -> None:
        self.url = ""
        self.most_at_once = most_at_once
        self.connections = self.ended = 0
        self.calls: list[Call] = []
        self.transports: list[asyncio.Transport] = []
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, call: Call) -> None:
        self.calls.append(call)
        task = asyncio.ensure_future(self._run(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, call: Call) -> None:
        with suppress(h2.exceptions.ProtocolError):  # when the caller has left
            await self._answer(call)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in self.transports:
            transport.abort()
        await asyncio.sleep(0.01)


@asynccontextmanager
async def serving_http2(
    answer: Answer, tls: ssl.SSLContext, *, most_at_once: int | None = 100
) -> AsyncIterator[Http2Peer]:
    tls.set_alpn_protocols(["h2"])
    peer = Http2Peer(answer, most_at_once)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ServerConnection(peer), "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    peer.url = f"https://localhost:{port}/v1/chat/completions"
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield peer
    finally:
        server.close()
        await peer.stop()
