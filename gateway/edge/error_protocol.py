"""Errors that one connection sends by itself, and how it ends after them.

After a head that cannot be trusted nobody knows where the next one begins, so each of these errors
ends its connection. What still arrives is read and thrown away, or a reset would take the error
along.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from gateway.core.errors import GatewayError
from gateway.core.overload import overloaded
from gateway.edge.body_protocol import BodyProtocol, release_unclaimed
from gateway.edge.connection_limits import NEVER, Idle
from gateway.edge.early_error import early_error
from gateway.edge.limits import LINGER_S
from gateway.edge.reply import Reply

# What is arriving: nothing, the head of a request, or its body.
BETWEEN, HEAD, BODY = range(3)
# So many connections beyond the limit are waited for so long, to get their error when they ask.
MOST_SHED = 32
SURPLUS_S = 1.0
TOO_MANY = "The server has too many connections. The request was not run. Try again in a moment."


class ErrorProtocol(BodyProtocol):
    """One connection that answers with errors of its own."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # On the loop's clock; NEVER for none.
        self.deadline = NEVER
        self._idle = Idle()
        self._phase = BETWEEN
        self._discards_input = False
        # There are more connections than the limit: it may only get an error.
        self._is_surplus = False
        # An error that waits until the answers before it have been sent.
        self._early_error = b""
        # The peer is a trusted proxy.
        self._is_trusted = False
        # The reply to the first request that is not answered yet.
        self._running: Reply | None = None

    @abstractmethod
    def on_deadline(self, now: float) -> None:
        """Act on a deadline that has passed. Called by the limiter."""

    @abstractmethod
    def dismiss(self) -> None:
        """Close an idle connection. Called by the limiter."""

    def _shed(self, surplus: int) -> None:
        """Answer one connection too many with 503 once its request begins to arrive, and make
        room. When there are many, at once: descriptors must not run out."""
        self.limiter.make_room(self.loop.time())
        if surplus > MOST_SHED:
            self._discards_input = True
            self._idle.pop(self, None)
            self.transport.write(early_error(overloaded(TOO_MANY), self.limiter, b"", []))
            self.transport.close()
            return
        self._is_surplus = True
        self.deadline = self.loop.time() + SURPLUS_S

    def _refuse_surplus(self) -> None:
        """Answer the request of a connection beyond the limit, whatever it is, with an error."""
        self._discards_input = True
        self._idle.pop(self, None)
        self._send_early_error(early_error(overloaded(TOO_MANY), self.limiter, b"", []))
        self.deadline = self.loop.time() + SURPLUS_S

    def _is_receiving(self, cycle: Reply) -> bool:
        return cycle is self.cycle and self._phase == BODY and not self._discards_input

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _refuse(self, error: GatewayError) -> None:
        """Answer the request that is arriving with an error, after those before it."""
        self._discards_input = True
        self._idle.pop(self, None)
        target, asked = b"", list[tuple[bytes, bytes]]()
        if self._phase != BETWEEN:
            target, asked = self.url, list(self.scope["headers"])
        response = early_error(error, self.limiter, target, asked, is_trusted=self._is_trusted)
        cycle = self.cycle
        if self._phase != BODY:
            is_next = not self._is_answering()
        elif cycle is not self._running:
            self.pipeline.popleft()
            release_unclaimed(cycle)
            is_next = False
        elif cycle.response_started:
            self.deadline = NEVER  # the connection closes when the answer ends (_begin_body)
            return
        else:
            cycle.disconnected = True
            cycle.waiting_for_100_continue = False  # nothing may be written any more
            cycle.message_event.set()
            release_unclaimed(cycle)
            is_next = True
        if is_next:
            delay_s = self.limiter.refusal_rate.delay_s(error.status, self.scope, self.loop.time())
            if delay_s:
                self.deadline = NEVER
                self.flow.pause_reading()
                self.loop.call_later(delay_s, self._send_early_error, response)
            else:
                self._send_early_error(response)
        else:
            self._early_error = response
            self.deadline = NEVER

    def _send_early_error(self, response: bytes) -> None:
        self._early_error = b""
        if not self.transport.is_closing():
            self.transport.write(response)
        self._linger()

    def _linger(self) -> None:
        """Close once the caller has, or after a while; read on until then, and hear nothing."""
        self._discards_input = True
        if self.transport.is_closing():
            return
        self.deadline = self.loop.time() + LINGER_S
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
