"""One attempt at one target: the request prepared, the answer read and decoded.

What comes out are our events; what the provider's dialect or the network did wrong comes out
as an UpstreamError. Whatever happens, the connection is given back or cut.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from gateway.core.errors import ProviderUnavailable, StreamBroken, UpstreamError
from gateway.core.events import Answer, Delta, StreamEvent, TakeEvents
from gateway.providers.base import AnyAdapter, UpstreamRequest
from gateway.providers.empty_output import MAX_PIECE, EmptyOutput
from gateway.providers.secrets import HIDDEN, conceal
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.transports.response_body import COMPRESSED, read_body, read_error_body


class ProviderExchange(Struct, eq=False):
    """Used once: read() for a buffered answer, open_stream() for a streamed one."""

    _adapter: AnyAdapter
    _transport: Transport
    _request: UpstreamRequest

    @property
    def was_sent(self) -> bool:
        """True when the request has gone out and was not turned away."""
        return self._request.was_sent

    async def read(self) -> Answer:
        """Return the buffered answer."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        if self._request.answer_headers is not None:
            self._request.answer_headers.update(response.headers)
        try:
            body = await read_body(response)
        finally:
            response.release()
        try:
            return self._adapter.read_answer(body, self._request)
        except UpstreamError as error:
            raise conceal_error(error, self._adapter, self._request) from None

    async def open_stream(self) -> ProviderStream:
        """Return the streamed answer, its head read. Whoever has it must close it."""
        response = await self._transport.open(self._request)
        if response.status != 200:
            await self._refuse(response)
        if response.is_encoded:
            response.release()
            raise ProviderUnavailable(COMPRESSED)
        return ProviderStream(response, self._adapter, self._request)

    async def _refuse(self, response: UpstreamResponse) -> None:
        """Raise what the provider's refusal means."""
        self._request.was_sent = False
        try:
            body = await read_error_body(response)
        finally:
            response.release()
        body = conceal_bytes(body, self._adapter.secrets(self._request))
        refusal = self._adapter.read_error(response.status, response.headers, body)
        refusal.provider_status = response.status
        raise conceal_error(refusal, self._adapter, self._request)


class ProviderStream:
    """A streamed answer: its bytes are awaited, what they amount to is not."""

    __slots__ = (
        "_adapter",
        "_decoder",
        "_empty",
        "_framing",
        "_read",
        "_request",
        "_response",
        "_take",
        "omits_finish_reason",
    )

    def __init__(
        self, response: UpstreamResponse, adapter: AnyAdapter, request: UpstreamRequest
    ) -> None:
        self.omits_finish_reason = request.omits_finish_reason
        self._response = response
        self._adapter = adapter
        self._decoder = adapter.open_decoder(request)
        self._framing = self._decoder.framing
        self._read = self._decoder.read
        self._request = request
        self._empty = EmptyOutput(repeats_answer=request.repeats_answer)
        self._take: TakeEvents = stop

    async def forward(self, take: TakeEvents) -> bool:
        """As gateway.streaming.relay.Stream."""
        self._take = take
        try:
            has_more = await self._response.forward(self._pass_on)
        except self._response.broken_by as error:
            raise StreamBroken(
                "The provider's response ended early.", detail=repr(error)
            ) from error
        if not has_more:
            take(*self._finish())
        return has_more

    def _pass_on(self, piece: bytes) -> bool:
        """Hand over what one piece amounts to. Returns whether to go on."""
        events: list[StreamEvent] = []
        failure: UpstreamError | None = None
        frame = b""
        try:
            for frame in self._framing.feed(piece):
                events += self._read(frame)
        except UpstreamError as error:
            failure = self._conceal(error, frame)
        empty = self._empty
        first = events[0] if events else None
        # Nearly every piece is short, and text.
        if isinstance(first, Delta) and len(piece) <= MAX_PIECE and first.fields.get("content"):
            empty.deltas += 1
        elif failure is None:
            failure = empty.weigh(piece, events)
        return self._take(events, failure)

    def _finish(self) -> tuple[list[StreamEvent], UpstreamError | None]:
        """Return the events of what was left incomplete at the end, and what is wrong with it."""
        events: list[StreamEvent] = []
        frame = b""
        try:
            for frame in self._framing.finish():
                events += self._read(frame)
        except UpstreamError as error:
            return events, self._conceal(error, frame)
        return events, None

    def _conceal(self, error: UpstreamError, frame: bytes) -> UpstreamError:
        """Return the error of a frame without secrets: read again without them, as what was cut
        short may have ended in one."""
        concealed = conceal_bytes(frame, self._adapter.secrets(self._request))
        if concealed != frame:
            try:
                self._decoder.read(concealed)
            except UpstreamError as again:
                error = again
        return conceal_error(error, self._adapter, self._request)

    async def close(self, *, is_over: bool) -> None:
        """Keep the connection if the provider ends the answer at once, else cut it."""
        try:
            if is_over:
                await self._response.read_rest()
        finally:
            self._response.release()


def stop(events: list[StreamEvent], failure: UpstreamError | None) -> bool:
    """Take nothing: no caller has begun to read the stream."""
    return False


def conceal_bytes(body: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Return a text of the provider's without the secrets; as it was if it has none."""
    text = body.decode(errors="replace")
    concealed = conceal(text, secrets)
    return body if concealed == text else concealed.encode()


def conceal_error(
    error: UpstreamError, adapter: AnyAdapter, request: UpstreamRequest
) -> UpstreamError:
    """Cut what is secret, and the provider's address, out of an error that quotes the provider."""
    secrets = adapter.secrets(request)
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
