"""One attempt at one target: the request prepared, the answer read and decoded.

What comes out are our events; what the provider's dialect or the network did wrong comes out
as an UpstreamError. Whatever happens, the connection is given back or cut.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from gateway.core.errors import UpstreamError
from gateway.core.events import Answer, StreamEvent
from gateway.providers.base import Decoder, Provider, UpstreamRequest
from gateway.providers.transport import Transport, UpstreamResponse, read_body, read_error_body
from gateway.streaming.sse import SseDecoder

Take = Callable[[bytes], bool]


class ProviderExchange:
    """Used once: read() for a buffered answer, open_stream() for a streamed one."""

    __slots__ = ("_provider", "_request", "_transport")

    def __init__(self, provider: Provider, transport: Transport, request: UpstreamRequest) -> None:
        self._provider = provider
        self._transport = transport
        self._request = request

    async def read(self) -> Answer:
        """Return the buffered answer."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        try:
            body = await read_body(response)
        finally:
            response.release()
        return self._provider.read_answer(body)

    async def open_stream(self) -> ProviderStream:
        """Return the streamed answer, its head read. Whoever has it must close it."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        return ProviderStream(response, self._provider.open_decoder(), self._request)

    async def _refuse(self, response: UpstreamResponse) -> None:
        """Raise what the provider's refusal means."""
        try:
            body = await read_error_body(response)
        finally:
            response.release()
        refusal = self._provider.read_error(response.status, response.headers, body)
        raise conceal(refusal, self._request)


class ProviderStream:
    """A streamed answer: bytes are awaited, what they amount to is not.

    forward: hands over each piece as it arrives (gateway.providers.transport). Raises one of
    broken_by when the answer breaks off.
    """

    __slots__ = ("_decoder", "_request", "_response", "_sse", "broken_by", "forward")

    def __init__(
        self, response: UpstreamResponse, decoder: Decoder, request: UpstreamRequest
    ) -> None:
        self.forward: Callable[[Take], Awaitable[bool]] = response.forward
        self.broken_by = response.broken_by
        self._response = response
        self._decoder = decoder
        self._request = request
        self._sse = SseDecoder()

    def feed(self, chunk: bytes) -> tuple[list[StreamEvent], UpstreamError | None]:
        """Return the events that the bytes complete, and what went wrong behind them.

        No bytes are the end: it completes what was left open.
        """
        events: list[StreamEvent] = []
        try:
            for data in self._sse.feed(chunk) if chunk else self._sse.finish():
                events += self._decoder.feed(data)
        except UpstreamError as error:
            return events, conceal(error, self._request)
        return events, None

    async def close(self, *, is_over: bool) -> None:
        """Keep the connection if the provider ends the answer at once, else cut it."""
        try:
            if is_over:
                await self._response.drain()
        finally:
            self._response.release()


def conceal(error: UpstreamError, request: UpstreamRequest) -> UpstreamError:
    """Cut our credential and the provider's address out of a message that quotes the provider."""
    place = urlsplit(request.url)
    credential = request.headers.get("authorization", "").removeprefix("Bearer ")
    for private in (credential, place.netloc, place.hostname or ""):
        # A bare name of one word is likely to be a word of the message's, too.
        if private and ("." in private or private != place.hostname):
            error.message = re.sub(re.escape(private), "…", error.message, flags=re.IGNORECASE)
    return error
