"""The bare relay: what this server and this transport library cost with nothing in between.

The same uvicorn, uvloop and httptools as the gateway, and the same client library, called the
same way (gateway.providers.transport). It reads a request, sends it upstream, and passes the
answer's bytes on as they arrive: no key, no parsing, no money, no record.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PASSED_ON = frozenset({b"content-type", b"content-length"})
EXTENSIONS = {"timeout": {"connect": 5.0}}


def _open_session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30.0)
    jar = aiohttp.DummyCookieJar()
    return aiohttp.ClientSession(connector=connector, cookie_jar=jar, trust_env=False)


class Relay:
    """An ASGI application with one upstream."""

    def __init__(self, upstream_url: str) -> None:
        self._url = httpx.URL(upstream_url)
        self._transport = AiohttpTransport(client=_open_session)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        request = httpx.Request(
            "POST", self._url, headers=headers, content=body, extensions=EXTENSIONS
        )
        response = await self._transport.handle_async_request(request)
        await _pass_on(response, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._transport.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})


async def _pass_on(response: httpx.Response, send: Send) -> None:
    headers = [pair for pair in response.headers.raw if pair[0].lower() in PASSED_ON]
    start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
    await send(start)
    stream: Any = response.stream
    try:
        async for chunk in stream:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        await stream.aclose()


def make_relay() -> Relay:
    """Return the application; BENCH_UPSTREAM_URL names the address that calls go to."""
    return Relay(os.environ["BENCH_UPSTREAM_URL"])
