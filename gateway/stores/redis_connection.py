"""One connection to Redis: commands go out together, answers come back in their order.

Not redis-py: a command of it costs this process more than the rest of an admission, and each that
waits takes a connection of its own (docs/adr/0048). Here no caller can leave the connection out of
step: an answer is read whether or not anybody still wants it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import hiredis

from gateway.core.redis_address import RedisAddress
from gateway.outbound.redis_tls import tls_context

Part = str | int | bytes
_MORE = object()  # hiredis has not got a whole answer yet


class RedisError(Exception):
    """Redis refused a command, or did not answer it."""


class RedisRefused(RedisError):
    """Redis answered that it does not do this."""


class Command(Protocol):
    """Is told what came of a command, once."""

    def on_reply(self, reply: object) -> None: ...

    def on_failure(self, error: RedisError) -> None: ...


class NoReply:
    """For commands whose answer nobody waits for."""

    def on_reply(self, reply: object) -> None:
        """As expected."""

    def on_failure(self, error: RedisError) -> None:
        """Whoever asks next will see."""


NO_REPLY = NoReply()


class RedisConnection(asyncio.Protocol):
    """on_push: called with what the server says unasked. on_lost: once, when the connection has
    ended. load: the packed commands that bring the scripts back to a server that forgot them."""

    def __init__(
        self,
        on_push: Callable[[Sequence[object]], None],
        on_lost: Callable[[str], None],
        load: Sequence[bytes] = (),
    ) -> None:
        self._on_push = on_push
        self._on_lost = on_lost
        self._load = load
        self._reader = hiredis.Reader(notEnoughData=_MORE)
        self._asked: deque[tuple[Command, bytes]] = deque()
        self._outgoing: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.answered = 0

    @property
    def waiting(self) -> int:
        """How many commands have no answer yet."""
        return len(self._asked)

    def send(self, command: Command, *parts: Part) -> None:
        """Send at the end of this pass of the loop, together with what else there is by then."""
        self._send(command, pack(*parts))

    def send_unanswered(self, *parts: Part) -> None:
        """Send a command that is answered by a push."""
        if self._transport is not None:
            self._transport.write(pack(*parts))

    def close(self, reason: str) -> None:
        """End the connection; what was asked fails."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
        self._fail(reason)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while (reply := self._next()) is not _MORE:
                self._take(reply)
        except hiredis.ProtocolError as error:
            self.close(f"it does not speak Redis's protocol: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._transport = None
            reason = "the connection was closed" if error is None else str(error)
            self._fail(reason)
            self._on_lost(reason)

    def _next(self) -> object:
        reply: object = self._reader.gets()
        return reply

    def _take(self, reply: object) -> None:
        if isinstance(reply, hiredis.PushNotification):
            self._on_push(reply)
            return
        if not self._asked:
            self.close("it answered what was not asked")
            return
        command, packed = self._asked.popleft()
        self.answered += 1
        if not isinstance(reply, hiredis.ReplyError):
            command.on_reply(reply)
        elif str(reply).startswith("NOSCRIPT") and self._load:
            for script in self._load:
                self._send(NO_REPLY, script)
            self._send(command, packed)
        else:
            command.on_failure(RedisRefused(str(reply)))

    def _send(self, command: Command, packed: bytes) -> None:
        if self._transport is None:
            command.on_failure(RedisError("there is no connection"))
            return
        self._asked.append((command, packed))
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(packed)

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if self._transport is not None:
            self._transport.write(b"".join(outgoing))

    def _fail(self, reason: str) -> None:
        error = RedisError(reason)
        while self._asked:
            self._asked.popleft()[0].on_failure(error)


def pack(*parts: Part) -> bytes:
    """Return a command as it goes over the wire."""
    packed: bytes = hiredis.pack_command(parts)  # type: ignore[arg-type] # its stub means a tuple of one
    return packed


async def connect(address: RedisAddress, make: Callable[[], RedisConnection]) -> RedisConnection:
    """Raises OSError, of which an SSLError is one. What the server is to know of us is not said
    yet."""
    loop = asyncio.get_running_loop()
    if address.path:
        _, connection = await loop.create_unix_connection(make, address.path)
        return connection
    context = tls_context(address) if address.uses_tls else None
    _, connection = await loop.create_connection(make, address.host, address.port, ssl=context)
    return connection
