"""One attempt at one target: the request prepared, the answer read and decoded.

What comes out are our events; what the provider's dialect or the network did wrong comes out
as an UpstreamError. Whatever happens, the connection is given back or cut.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from gateway.core.errors import ProviderUnavailable, UpstreamError
from gateway.core.events import Answer, StreamEvent
from gateway.providers.base import Provider, UpstreamRequest
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.secrets import HIDDEN, conceal
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.transports.response_body import COMPRESSED, read_body, read_error_body

Take = Callable[[bytes], bool]


class ProviderExchange:
    """Used once: read() for a buffered answer, open_stream() for a streamed one."""

    __slots__ = ("_provider", "_request", "_transport")

    def __init__(self, provider: Provider, transport: Transport, request: UpstreamRequest) -> None:
        self._provider = provider
        self._transport = transport
        self._request = request

    @property
    def was_sent(self) -> bool:
        """True when the request has gone out and was not turned away."""
        return self._request.was_sent

    async def read(self) -> Answer:
        """Return the buffered answer."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        try:
            body = await read_body(response)
        finally:
            response.release()
        try:
            return self._provider.read_answer(body)
        except UpstreamError as error:
            raise conceal_error(error, self._provider, self._request) from None

    async def open_stream(self) -> ProviderStream:
        """Return the streamed answer, its head read. Whoever has it must close it."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        if response.is_encoded:
            response.release()
            raise ProviderUnavailable(COMPRESSED)
        return ProviderStream(response, self._provider, self._request)

    async def _refuse(self, response: UpstreamResponse) -> None:
        """Raise what the provider's refusal means."""
        self._request.was_sent = False
        try:
            body = await read_error_body(response)
        finally:
            response.release()
        body = conceal_bytes(body, self._provider.secrets(self._request))
        refusal = self._provider.read_error(response.status, response.headers, body)
        raise conceal_error(refusal, self._provider, self._request)


class ProviderStream:
    """A streamed answer: bytes are awaited, what they amount to is not.

    forward: hands over each piece as it arrives (gateway.providers.transports.base). Raises one of
    broken_by when the answer breaks off.
    """

    __slots__ = (
        "_decoder",
        "_provider",
        "_request",
        "_response",
        "_sse",
        "broken_by",
        "forward",
        "omits_finish_reason",
    )

    def __init__(
        self, response: UpstreamResponse, provider: Provider, request: UpstreamRequest
    ) -> None:
        self.omits_finish_reason = request.omits_finish_reason
        self.forward: Callable[[Take], Awaitable[bool]] = response.forward
        self.broken_by = response.broken_by
        self._response = response
        self._provider = provider
        self._decoder = provider.open_decoder()
        self._request = request
        self._sse = SseDecoder()

    def feed(self, chunk: bytes) -> tuple[list[StreamEvent], UpstreamError | None]:
        """Return the events that the bytes complete, and what went wrong behind them.

        No bytes are the end: it completes what was left open.
        """
        events: list[StreamEvent] = []
        data = b""
        try:
            for data in self._sse.feed(chunk) if chunk else self._sse.finish():
                events += self._decoder.feed(data)
        except UpstreamError as error:
            return events, self._conceal(error, data)
        return events, None

    def _conceal(self, error: UpstreamError, data: bytes) -> UpstreamError:
        """Return the error of an event without secrets: read again without them, as what was cut
        short may have ended in one."""
        concealed = conceal_bytes(data, self._provider.secrets(self._request))
        if concealed != data:
            try:
                self._decoder.feed(concealed)
            except UpstreamError as again:
                error = again
        return conceal_error(error, self._provider, self._request)

    async def close(self, *, is_over: bool) -> None:
        """Keep the connection if the provider ends the answer at once, else cut it."""
        try:
            if is_over:
                await self._response.drain()
        finally:
            self._response.release()


def conceal_bytes(body: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Return a text of the provider's without the secrets; as it was if it has none."""
    text = body.decode(errors="replace")
    concealed = conceal(text, secrets)
    return body if concealed == text else concealed.encode()


def conceal_error(
    error: UpstreamError, provider: Provider, request: UpstreamRequest
) -> UpstreamError:
    """Cut what is secret, and the provider's address, out of an error that quotes the provider."""
    secrets = provider.secrets(request)
    place = urlsplit(request.url)
    # A bare name of one word is likely to be a word of the message's, too.
    names = [place.netloc, place.hostname if "." in (place.hostname or "") else ""]
    for field in ("message", "detail", "quote"):
        text = conceal(getattr(error, field), secrets)
        for name in filter(None, names):
            text = replace_in_any_case(text, name, HIDDEN)
        setattr(error, field, text)
    error.args = (error.message,)
    return error


def replace_in_any_case(text: str, name: str, other: str) -> str:
    """Return the text with the other in place of an ASCII name, written in any case."""
    if not name.isascii() or (not text.isascii() and len(text.lower()) != len(text)):
        return text.replace(name, other)
    seen, wanted = text.lower(), name.lower()
    parts, done = [], 0
    while (start := seen.find(wanted, done)) >= 0:
        parts.append(text[done:start])
        done = start + len(wanted)
    return other.join([*parts, text[done:]])
