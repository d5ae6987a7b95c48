"""One attempt at one target: the request prepared, the answer read and decoded.

What comes out are our events; what the provider's dialect or the network did wrong comes out
as an UpstreamError. Whatever happens, the connection is given back or cut.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from gateway.core.errors import UpstreamError
from gateway.core.events import Answer, Ended, StreamEvent
from gateway.providers.base import Provider, UpstreamRequest
from gateway.providers.transport import Transport, UpstreamResponse, read_body, read_error_body
from gateway.streaming.sse import SseDecoder

ENDED = Ended()


class ProviderExchange:
    """Used once."""

    __slots__ = ("_provider", "_request", "_transport")

    def __init__(self, provider: Provider, transport: Transport, request: UpstreamRequest) -> None:
        self._provider = provider
        self._transport = transport
        self._request = request

    async def read(self) -> Answer:
        """Return the buffered answer."""
        response = await self._open()
        try:
            body = await read_body(response)
        finally:
            await response.aclose()
        return self._provider.read_answer(body)

    async def batches(self) -> AsyncIterator[list[StreamEvent]]:
        """Yield the events of a streamed answer, those of one network read at a time.

        Whoever stops early must close this generator. After the last event the connection is
        kept when the provider ends the response at once, else cut.
        """
        response = await self._open()
        is_over = False
        try:
            sse, decoder = SseDecoder(), self._provider.open_decoder()
            while chunk := await response.read():
                events: list[StreamEvent] = []
                try:
                    for data in sse.feed(chunk):
                        events += decoder.feed(data)
                except UpstreamError as error:
                    yield events  # what came before the failure is the caller's
                    raise conceal(error, self._request) from None
                is_over = ENDED in events
                yield events
            is_over = True
            yield [event for data in sse.finish() for event in decoder.feed(data)]
        finally:
            try:
                if is_over:
                    await response.drain()
            finally:
                await response.aclose()

    async def _open(self) -> UpstreamResponse:
        """Send the request. Raises what the provider's refusal means."""
        response = await self._transport.open(self._request)
        if response.status == 200:
            return response
        try:
            body = await read_error_body(response)
        finally:
            await response.aclose()
        refusal = self._provider.read_error(response.status, response.headers, body)
        raise conceal(refusal, self._request)


def conceal(error: UpstreamError, request: UpstreamRequest) -> UpstreamError:
    """Cut our credential and the provider's address out of a message that quotes the provider."""
    place = urlsplit(request.url)
    credential = request.headers.get("authorization", "").removeprefix("Bearer ")
    for private in (credential, place.netloc, place.hostname or ""):
        # A bare name of one word is likely to be a word of the message's, too.
        if private and ("." in private or private != place.hostname):
            error.message = re.sub(re.escape(private), "…", error.message, flags=re.IGNORECASE)
    return error
