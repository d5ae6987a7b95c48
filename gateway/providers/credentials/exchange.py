"""An attempt with a credential that is one of several, has limits, or is made into tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gateway.core.errors import ProviderAuth, UpstreamError
from gateway.core.events import Answer, TakeEvents
from gateway.providers.credentials.state import CredentialState
from gateway.streaming.relay import Exchange, Stream

# Makes the exchange with the provider, of the secret that it is shown.
Make = Callable[[str], Exchange]
Result = TypeVar("Result")


class CredentialExchange:
    """Used once, as any exchange. A token that the provider refuses before its end is replaced, and
    the request is sent once more: nothing of an answer has come yet."""

    __slots__ = ("_exchange", "_make", "_state")

    def __init__(self, state: CredentialState, make: Make) -> None:
        self._state = state
        self._make = make
        self._exchange: Exchange | None = None

    @property
    def was_sent(self) -> bool:
        return self._exchange is not None and self._exchange.was_sent

    async def read(self) -> Answer:
        self._state.begin()
        try:
            return await self._ask(lambda exchange: exchange.read())
        finally:
            self._state.end()

    async def open_stream(self) -> Stream:
        self._state.begin()
        try:
            stream = await self._ask(lambda exchange: exchange.open_stream())
        except BaseException:
            self._state.end()
            raise
        return CredentialStream(stream, self._state)

    async def _ask(self, ask: Callable[[Exchange], Awaitable[Result]]) -> Result:
        state = self._state
        try:
            secret = await self._find_secret()
            try:
                result = await self._send(ask, secret)
            except ProviderAuth:
                other = "" if state.token is None else await state.token.replace(secret)
                if not other:
                    raise
                result = await self._send(ask, other)
        except UpstreamError as error:
            state.failed(error)
            raise
        state.answered()
        return result

    async def _find_secret(self) -> str:
        """Return what the provider is shown; nothing is awaited but a token that is not there."""
        token = self._state.token
        if token is None:
            return self._state.record.secret
        return token.value or await token.wait()

    def _send(self, ask: Callable[[Exchange], Awaitable[Result]], secret: str) -> Awaitable[Result]:
        self._exchange = exchange = self._make(secret)
        return ask(exchange)


class CredentialStream:
    """A stream that takes its place among a credential's calls until it is closed."""

    __slots__ = ("_state", "_stream", "omits_finish_reason")

    def __init__(self, stream: Stream, state: CredentialState) -> None:
        self.omits_finish_reason = stream.omits_finish_reason
        self._stream = stream
        self._state: CredentialState | None = state

    async def forward(self, take: TakeEvents) -> bool:
        return await self._stream.forward(take)

    async def close(self, *, is_over: bool) -> None:
        try:
            await self._stream.close(is_over=is_over)
        finally:
            state, self._state = self._state, None
            if state is not None:
                state.end()
