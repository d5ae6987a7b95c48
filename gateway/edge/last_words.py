"""A refusal as bytes, and a way to close a connection so that the caller gets to read it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.core.errors import GatewayError
from gateway.core.ids import new_request_id
from gateway.ingress.refusal import Headers, refusal


def last_words(error: GatewayError, more: Headers) -> bytes:
    """Return a whole response after which the connection closes. more: headers to add."""
    request_id = new_request_id()
    status, headers, body = refusal(error, request_id)
    headers += [(b"x-request-id", request_id.encode()), *more, (b"connection", b"close")]
    lines = [b"%s: %s\r\n" % header for header in headers]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n", body])


class SlowClose:
    """Stands in for the transport of a response that may end before its request does.

    A socket that is closed with unread bytes resets the connection, and takes the answer along.
    """

    __slots__ = ("_linger", "_transport", "abort", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self._transport = transport
        self._linger = linger
        self.write = transport.write
        self.abort = transport.abort
        self.is_closing = transport.is_closing

    def close(self) -> None:
        """Say that nothing follows, read on for a while, then close."""
        self._linger()
