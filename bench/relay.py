"""The bare relay: what this server and this transport cost with nothing in between.

The same uvicorn, uvloop and httptools as the gateway, started with the same options, and the
gateway's own transport. It reads a request, sends its headers and body upstream, and passes the
answer's headers and bytes on as they arrive: no key, no parsing, no money, no record.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from gateway.edge.connection_limits import ConnectionLimiter
from gateway.edge.limits import EdgeLimits
from gateway.edge.protocol import GuardedHttpProtocol
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import UpstreamResponse
from gateway.providers.transports.direct import DirectTransport

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# They speak of one connection, not of the message.
OF_THE_CONNECTION = frozenset({"host", "connection", "transfer-encoding", "content-length"})


class Relay:
    """An ASGI application with one upstream."""

    def __init__(self, upstream_url: str, transport: DirectTransport) -> None:
        self._url = upstream_url
        self._transport = transport

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        names = (
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        headers = {name: value for name, value in names if name not in OF_THE_CONNECTION}
        request = UpstreamRequest(url=self._url, headers=headers, body=body)
        response = await self._transport.open(request)
        try:
            await _pass_on(response, send)
        finally:
            response.release()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._transport.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})


async def _pass_on(response: UpstreamResponse, send: Send) -> None:
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers.items()
        if name.lower() not in ("connection", "transfer-encoding")
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    while chunk := await response.read():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def make_relay() -> Relay:
    """Return the application; BENCH_UPSTREAM_URL names the address that calls go to."""
    # gateway.asgi does the same for the gateway: connections have no limits of their own.
    GuardedHttpProtocol.limiter = ConnectionLimiter(
        EdgeLimits(
            head_s=10,
            body_silence_s=15,
            body_rate_window_s=10,
            idle_connections=256,
            refusals_per_s=250,
            body_memory_bytes=1 << 28,
            drain_s=30,
        )
    )
    return Relay(os.environ["BENCH_UPSTREAM_URL"], DirectTransport(connect_s=5.0))
