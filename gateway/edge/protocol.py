"""uvicorn's HTTP protocol with limits on connections and requests, given to uvicorn
as its --http (gateway.launch).

The parser refuses what is not HTTP; gateway.edge.head what is, but is read differently by
different servers; this module what is too long, too slow or too much. Every refusal is the
JSON error of the API, and the end of the connection: after a head that cannot be trusted
nobody knows where the next one begins.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast
from weakref import ref

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.core.errors import (
    GatewayError,
    HeadersTooLarge,
    RequestError,
    RequestTimeout,
    UriTooLong,
)
from gateway.core.mounts import CALL_TARGETS
from gateway.core.overload import overloaded
from gateway.core.request import WRITE_NOW
from gateway.edge.body_after_upgrade import BodyOnly
from gateway.edge.body_limits import UNLIMITED
from gateway.edge.body_protocol import BodyProtocol, release_unclaimed
from gateway.edge.connection_limits import NEVER, SETTLE_S, Idle
from gateway.edge.early_error import LingeringClose, as_gateway_error, early_error
from gateway.edge.half_close import probe
from gateway.edge.head import check_head, check_size
from gateway.edge.limits import (
    LINGER_S,
    MAX_FRAMING_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_REQUEST_LINE_BYTES,
    MAX_UNFINISHED_HEAD_BYTES,
)
from gateway.edge.min_data_rate import MinDataRate
from gateway.edge.reply import Reply

BETWEEN, HEAD, BODY = range(3)
# Beyond what may be connected, so many more are told so; each is waited for so long.
MOST_SHED = 32
SURPLUS_S = 1.0
TOO_MANY = "The server has too many connections. The request was not run. Try again in a moment."
# The loop reads what has arrived at least once in this time, before the timer that is set for it.
LAST_LOOK_S = 0.01


class GuardedHttpProtocol(BodyProtocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.deadline = NEVER
        self._idle = Idle()
        self._phase = BETWEEN
        self._timed_phase = BETWEEN
        self._chunk_bytes = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._limit_bytes = UNLIMITED
        self._pieces = 0
        self._framing_bytes = 0
        self._data_rate: MinDataRate | None = None
        self._would_keep_alive = False
        self._is_upgrading = False
        self._discards_input = False
        self._is_surplus = False
        self._early_error = b""
        self._is_trusted = False
        self._running: Reply | None = None

    # What the transport says

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limiter = self.limiter
        self.flow = limiter.control_flow(transport, self.loop)
        self._idle = limiter.idle_of(self.client[0] if self.client else "")
        if limiter.is_full(self._idle):
            self._discards_input = True
            transport.abort()
            return
        if limiter.https is not None and self.client:
            self._is_trusted = limiter.https.trusts(self.client[0])
        limiter.watch(self.loop, self.connections)
        self._rest()
        surplus = len(self.connections) - limiter.limits.connections
        if surplus > 0:
            self._shed(surplus)

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

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._idle.pop(self, None)
        self.deadline = NEVER
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        cycles: list[Any] = [running, self.cycle, *[cycle for cycle, _ in self.pipeline]]
        for cycle in cycles:
            if cycle is not None:
                release_unclaimed(cycle)
                cycle.transport = self.transport  # LingeringClose and this object hold each other

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether to keep the connection: for the answers to requests that came whole."""
        running = self._running
        if running is None or running.response_complete or self._phase != BETWEEN:
            return False
        if self._discards_input or self.scheme == "https" or running.scope["http_version"] == "1.0":
            return False
        last = self.pipeline[0][0] if self.pipeline else running
        last.keep_alive = False
        probe(self.loop, running)
        return True

    def data_received(self, data: bytes) -> None:
        if self._discards_input:
            self.limiter.discarding.take(len(data), self)
            return
        if self._is_surplus and len(self.connections) > self.limiter.limits.connections:
            self._discards_input = True
            self._idle.pop(self, None)
            self._send_early_error(early_error(overloaded(TOO_MANY), self.limiter, b"", []))
            self.deadline = self.loop.time() + SURPLUS_S
            return
        self._chunk_bytes = len(data)
        if self._phase == HEAD:
            self._head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade()
            if rest := data[upgrade.args[0] :]:
                self.data_received(rest)
                return
        except HttpParserError as error:
            if not self._discards_input:
                self._refuse(as_gateway_error(error))
        if self._phase != BETWEEN and not self._discards_input:
            self._wait_for_more()

    # What the parser says

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = HEAD
        self._timed_phase = BETWEEN
        # An upper bound: the chunk may hold more than this head. It only says when to count.
        self._head_bytes = self._chunk_bytes

    def on_headers_complete(self) -> None:
        if self._head_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            check_size(self.url, self.headers)
        version = self.parser.get_http_version()
        fields = check_head(version, self.url, self.headers, self.limiter.hosts)
        if self.limiter.refuse is not None:
            raise self.limiter.refuse()
        if len(self.pipeline) >= MAX_PIPELINED:
            raise RequestError("Too many requests were pipelined.")
        if self.expect_100_continue and version == "1.0":
            self.expect_100_continue = False  # interim answers are unknown there
        super().on_headers_complete()
        # uvicorn has made it, of its own class, and nothing of it has run yet.
        self.cycle.__class__ = Reply
        self.cycle.refusal_rate = self.limiter.refusal_rate
        if self.limiter.https is not None:
            self.limiter.https.mark(fields, self.scope, self.cycle, trusts=self._is_trusted)
        # Weak, because it has the scope: a circle that only the collector would undo.
        self.scope["extensions"] = {WRITE_NOW: ref(self.cycle)}  # type: ignore[dict-item]
        if not self.pipeline:
            self._running = self.cycle
        # Trailers go nowhere: nothing that decides anything may come after the body.
        self.headers = []
        self._idle.pop(self, None)
        self.deadline = NEVER
        self._phase = BODY
        self._body_bytes = self._framing_bytes = self._pieces = 0
        self._limit_bytes = UNLIMITED
        if self.url not in CALL_TARGETS:
            self._limit_body(fields)
        if b"upgrade" in fields:
            self._is_upgrading = self.parser.should_upgrade()

    def on_message_complete(self) -> None:
        if self._is_upgrading:
            return  # its body is still to come (_ignore_upgrade)
        self._phase = BETWEEN
        self.deadline = NEVER
        cycle = self.cycle
        if self._data_rate is not None:
            self._data_rate = None
            if not cycle.response_started:
                cycle.transport = self.transport
                cycle.keep_alive = self._would_keep_alive
        # A body that is dropped has come to its end before (_limit_body).
        if cycle.more_body and not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        if cycle.hold is not None:
            cycle.hold.has_arrived()

    # What uvicorn does with it

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        running = self._running
        if running is not None and running.hold is not None:
            release_unclaimed(running)
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            next_cycle, app = self.pipeline.pop()
            self._running = cast(Reply, next_cycle)
            self._start_asgi_task(next_cycle, app)
        elif self._early_error:
            self._send_early_error(self._early_error)
        elif not self._discards_input:
            self._rest()

    def drain(self) -> None:
        """End with the running answer. Who has only just connected is about to ask, and told."""
        if self._is_answering():
            self.shutdown()
        elif self._idle.get(self, NEVER) + SETTLE_S <= self.loop.time():
            self.dismiss()

    def shutdown(self) -> None:
        self._would_keep_alive = False
        super().shutdown()

    # Time

    def on_deadline(self, now: float) -> None:
        """Act on a deadline that has passed. Called by the limiter."""
        if self._discards_input:
            self.transport.abort()
        elif self._phase == BETWEEN:
            self.dismiss()
        elif self._phase == BODY:
            self._check_data_rate(now)
        elif self._is_answering():
            self.deadline = now + self.limiter.limits.head_s
        else:
            head_s = self.limiter.limits.head_s
            self._refuse(RequestTimeout(f"The headers did not arrive within {head_s:g} s."))

    def dismiss(self) -> None:
        """Close an idle connection, unless a request turns out to have arrived: what has come and
        was not read yet would reset it, when the loop has been busy."""
        self.deadline = NEVER
        self.loop.call_later(LAST_LOOK_S, self._close_if_idle, self.cycle)

    def _close_if_idle(self, last: RequestResponseCycle | None) -> None:
        if self in self._idle and self.cycle is last and self._phase == BETWEEN:
            self._idle.pop(self, None)
            self.transport.close()

    def _rest(self) -> None:
        """Nothing is being answered: wait for a request, or for the rest of one."""
        now = self.loop.time()
        is_over = self._phase == BETWEEN
        self._idle[self] = now
        self.deadline = now + (self.timeout_keep_alive if is_over else self.limiter.limits.head_s)

    def _wait_for_more(self) -> None:
        """A request has begun and not ended with what was received."""
        if self._phase == HEAD:
            if self._head_bytes > MAX_UNFINISHED_HEAD_BYTES:
                is_line = len(self.url) > MAX_REQUEST_LINE_BYTES
                self._refuse(UriTooLong() if is_line else HeadersTooLarge())
            elif self._timed_phase != HEAD:
                self.deadline = self.loop.time() + self.limiter.limits.head_s
        elif self._timed_phase != BODY:
            self._begin_body()
        else:
            self._framing_bytes += self._chunk_bytes
            if self._framing_bytes > MAX_FRAMING_BYTES:
                self._refuse(RequestError("A chunk extension or the trailers are too long."))
        self._timed_phase = self._phase

    def _begin_body(self) -> None:
        """The head is here and the body is not: an answer may come before the request ends."""
        self._data_rate = MinDataRate(self.limiter.limits, self._body_bytes)
        self.deadline = self.loop.time() + self._data_rate.step_s
        cycle: Any = self.cycle
        self._would_keep_alive = cycle.keep_alive
        cycle.keep_alive = False
        cycle.transport = LingeringClose(self.transport, self._linger)

    def _check_data_rate(self, now: float) -> None:
        data_rate = self._data_rate
        assert data_rate is not None
        self.deadline = now + data_rate.step_s
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:
            data_rate.restart(self._body_bytes)
            return
        try:
            data_rate.check(self._body_bytes)
        except RequestTimeout as error:
            self._refuse(error)

    # Refusals

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

    def _ignore_upgrade(self) -> None:
        """Answer in HTTP/1.1, once. The parser took the body for another protocol: it is given
        to one that is told its framing and hears of nothing else."""
        self._is_upgrading = False
        self.cycle.keep_alive = False
        framing = [
            b"%s: %s\r\n" % header
            for header in self.scope["headers"]
            if header[0] in (b"content-length", b"transfer-encoding")
        ]
        self.parser = HttpRequestParser(BodyOnly(self))
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))
