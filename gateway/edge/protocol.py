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
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from gateway.core.errors import (
    RequestError,
    RequestTimeout,
    UriTooLong,
)
from gateway.core.request import WRITE_NOW
from gateway.edge.body_after_upgrade import BodyOnly
from gateway.edge.body_limits import UNLIMITED
from gateway.edge.body_protocol import release_unclaimed
from gateway.edge.connection_limits import NEVER, SETTLE_S
from gateway.edge.early_error import LingeringClose, as_gateway_error
from gateway.edge.error_protocol import BETWEEN, BODY, HEAD, ErrorProtocol
from gateway.edge.half_close import probe
from gateway.edge.head import (
    PROBE_TARGETS,
    check_head,
    check_size,
    find_boundary_fault,
    head_too_large,
    line_start,
)
from gateway.edge.limits import (
    MAX_FRAMING_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_REQUEST_LINE_BYTES,
    MAX_UNFINISHED_HEAD_BYTES,
)
from gateway.edge.min_data_rate import MinDataRate
from gateway.edge.reply import Reply
from gateway.endpoints.registry import call_targets

# The loop reads what has arrived at least once in this time, before the timer that is set for it.
LAST_LOOK_S = 0.01
CALL_TARGETS = call_targets()


class GuardedHttpProtocol(ErrorProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._timed_phase = BETWEEN
        self._chunk_bytes = 0
        self._head_bytes = 0
        self._line_start = b""
        self._body_bytes = 0
        self._limit_bytes = UNLIMITED
        self._pieces = 0
        self._framing_bytes = 0
        self._data_rate: MinDataRate | None = None
        self._would_keep_alive = False
        self._is_upgrading = False

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
            self._refuse_surplus()
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
            self._wait_for_more(data)

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
        if self.limiter.refuse is not None and self.url not in PROBE_TARGETS:
            raise self.limiter.refuse()
        if len(self.pipeline) >= MAX_PIPELINED:
            raise RequestError("Too many requests were pipelined.")
        if self.expect_100_continue and version == "1.0":
            self.expect_100_continue = False  # interim answers are unknown there
        super().on_headers_complete()
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
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            next_cycle, _ = self.pipeline.pop()
            self._running = next_reply = cast(Reply, next_cycle)
            self._start(next_reply)
        elif self._early_error:
            self._send_early_error(self._early_error)
        elif not self._discards_input:
            self._rest()

    def drain(self) -> None:
        """End with the running answer. A connection that has just opened may still get a 503."""
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

    def close_idle(self, *, since: float) -> None:
        """Close a connection that has waited for a request since that moment, or for longer."""
        idle_since = self._idle.get(self, NEVER)
        if idle_since < since and self.deadline != NEVER and self._phase == BETWEEN:
            self.dismiss()

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

    def _wait_for_more(self, data: bytes) -> None:
        """A request has begun and not ended with what was received."""
        if self._phase == HEAD:
            self._line_start = line_start(self._line_start, data)
            if self._head_bytes > MAX_UNFINISHED_HEAD_BYTES:
                is_line = len(self.url) > MAX_REQUEST_LINE_BYTES
                fault = find_boundary_fault(self._line_start) or head_too_large()
                self._refuse(UriTooLong() if is_line else fault)
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
