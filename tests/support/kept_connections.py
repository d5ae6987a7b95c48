"""Calls over kept connections that cost the caller little: a parser in C, and no client library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

import httptools

PATH = "/v1/chat/completions"


@dataclass
class Answer:
    """As much of a response as has come. status is 0 before its head."""

    status: int = 0
    call_id: str = ""
    content: bytes = b""


class Connection(asyncio.Protocol):
    """One connection, for one call at a time. is_idle: open, with no call."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.is_idle = False
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._whole: asyncio.Future[Answer] | None = None

    async def ask(self, request: bytes) -> Answer:
        """Return the whole response. Raises ConnectionError when the connection ends before."""
        self.is_idle, self.answer = False, Answer()
        if self._transport.is_closing():
            raise ConnectionError("The connection has ended.")
        self._whole = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._whole

    def close(self) -> None:
        self._transport.close()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._end(ConnectionError(repr(error)))
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_idle = False
        self._end(ConnectionError(f"The connection ended: {error!r}"))

    # Called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-request-id":
            self.answer.call_id = value.decode()

    def on_headers_complete(self) -> None:
        self.answer.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self.answer.content += body

    def on_message_complete(self) -> None:
        self.is_idle = self._parser.should_keep_alive()
        if self._whole is not None and not self._whole.done():
            self._whole.set_result(self.answer)
        if not self.is_idle:
            self._transport.close()

    def _end(self, error: Exception) -> None:
        if self._whole is not None and not self._whole.done():
            self._whole.set_exception(error)


class KeptConnections:
    """Connections to servers, used again once they are idle. Closed at the end of the block."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._kept: dict[str, list[Connection]] = {origin: [] for origin in origins}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for kept in self._kept.values():
            for connection in kept:
                connection.close()

    async def take(self, origin: str) -> Connection:
        """Return an idle connection, or a new one. Raises OSError where nobody listens."""
        kept = self._kept[origin]
        while kept:
            connection = kept.pop()
            if connection.is_idle:
                return connection
        host, _, port = origin.rpartition("//")[2].partition(":")
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, host, int(port)))[1]

    def keep(self, origin: str, connection: Connection) -> None:
        """Take a connection back whose call has ended."""
        if connection.is_idle:
            self._kept[origin].append(connection)
        else:
            connection.close()


def write_request(key: str, body: Mapping[str, object]) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {key}\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content
