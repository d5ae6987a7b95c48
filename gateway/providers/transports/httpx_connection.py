"""Connections under httpx: HTTP/1.1 and HTTP/2, straight or through a proxy.

httpcore speaks both; what it leaves open is closed here. A call on a shared connection that is
given up is reset, so that the provider stops computing it, and its unread bytes are given back to
the others. A server that takes no more calls at a time gets them on another connection. Both hold
for the pinned httpcore; tests/gateway/providers/transports/test_http2.py says so.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from typing import cast

import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h11
import httpcore

from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.tls import provider_context, proxy_context
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.httpx_stream import SocketStream, connect_through
from gateway.providers.transports.loop_quotas import LoopQuotas

KEEPALIVE_S = 30.0
# What httpcore allows a server, and a server that names no limit us.
MAX_STREAMS = 100
# What may lie here unread, of an answer and of all on a connection.
STREAM_WINDOW_BYTES = 192 * 1024
CONNECTION_WINDOW_BYTES = 2 * MAX_STREAMS * STREAM_WINDOW_BYTES
# These have no body. Not every provider knows, and what it sends would come next.
BODILESS = (204, 304)


class Http1Connection(httpcore.AsyncHTTP11Connection):
    """Counts what comes beside the body, and is used again only where both sides are in step."""

    _status = 0

    async def _send_request_headers(self, request: httpcore.Request) -> None:
        # Only from here on is the connection this call's: before, the one ahead may still end.
        cast(SocketStream, self._network_stream).begin_exchange()
        await super()._send_request_headers(request)

    async def _receive_event(self, timeout: float | None = None) -> h11.Event | type[h11.PAUSED]:
        event = await super()._receive_event(timeout)
        stream = cast(SocketStream, self._network_stream)
        if isinstance(event, h11.Data):
            stream.count_body(len(event.data))
        elif isinstance(event, h11.Response):
            self._status = event.status_code
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                # What is between it and us may see another end than we do.
                raise httpcore.RemoteProtocolError(
                    "The response has both Content-Length and Transfer-Encoding."
                )
        elif isinstance(event, h11.InformationalResponse):
            stream.count_interim()
        return event

    async def _response_closed(self) -> None:
        """httpcore would keep what came behind the answer, for an answer to the next request."""
        unasked, _ = self._h11_state.trailing_data
        if unasked or self._status in BODILESS:
            await self.aclose()
        else:
            await super()._response_closed()
            cast(SocketStream, self._network_stream).is_silent = self.is_idle()


class FairWindows(h2.connection.H2Connection):
    """Room for unread bytes of an answer that leaves most of the connection's to the others.

    httpcore gives each answer as much as there is.
    """

    def increment_flow_control_window(self, increment: int, stream_id: int | None = None) -> None:
        increment = CONNECTION_WINDOW_BYTES if stream_id is None else STREAM_WINDOW_BYTES
        super().increment_flow_control_window(increment, stream_id)


class Http2Connection(httpcore.AsyncHTTP2Connection):
    """Several calls at a time, none of which can hurt another."""

    def __init__(self, origin: httpcore.Origin, stream: SocketStream) -> None:
        super().__init__(origin, stream, KEEPALIVE_S)
        self._h2_state = FairWindows(config=self.CONFIG)
        self._stream = stream
        self._stream_limit = MAX_STREAMS
        self._open = 0
        self._answered: set[int] = set()

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        if not self.is_available():
            raise httpcore.ConnectionNotAvailable
        self._stream.begin_exchange()
        self._open += 1
        try:
            response = await super().handle_async_request(request)
        except BaseException:
            self._open -= 1
            raise
        self._answered.add(response.extensions["stream_id"])
        return response

    def is_available(self) -> bool:
        return self._open < self._stream_limit and super().is_available()

    def has_expired(self) -> bool:
        return super().has_expired() or (self.is_idle() and self._stream.is_over)

    async def _read_incoming_data(self, request: httpcore.Request) -> list[h2.events.Event]:
        try:
            events = await super()._read_incoming_data(request)
        except h2.exceptions.ProtocolError as error:
            # The connection cannot be understood from here on, by any of its calls.
            self._connection_error = True
            self._read_exception = httpcore.RemoteProtocolError(repr(error))
            self._stream.cut()
            raise self._read_exception from error
        for event in events:
            if isinstance(event, h2.events.DataReceived):
                self._stream.count_body(len(event.data or b""))
            elif isinstance(event, h2.events.InformationalResponseReceived):
                self._stream.count_interim()
        return events

    async def _receive_remote_settings_change(self, event: h2.events.RemoteSettingsChanged) -> None:
        """httpcore lets one call at a time through to a server that names no limit, and waits
        for calls to end, reading nothing, when the limit goes down."""
        named = self._h2_state.remote_settings.max_concurrent_streams
        self._stream_limit = min(named, MAX_STREAMS)
        while self._max_streams < self._stream_limit:
            await self._max_streams_semaphore.release()
            self._max_streams += 1

    async def _response_closed(self, stream_id: int) -> None:
        self._give_up(stream_id)
        if stream_id in self._answered:
            self._answered.discard(stream_id)
            self._open -= 1
        await super()._response_closed(stream_id)

    def _give_up(self, stream_id: int) -> None:
        """Tell the server about a call that nobody waits for any more, and let others have the
        room that its unread bytes take."""
        state = self._h2_state
        stream = state.streams.get(stream_id)
        try:
            for event in self._events.get(stream_id, ()):
                if isinstance(event, h2.events.DataReceived):
                    state.acknowledge_received_data(event.flow_controlled_length or 0, stream_id)
            if stream is not None and not stream.closed:
                state.reset_stream(stream_id, error_code=h2.errors.ErrorCodes.CANCEL)
                # What is on its way still comes.
                self._stream.expect_unwanted(2 * STREAM_WINDOW_BYTES)
            self._stream.send(state.data_to_send())
        except (h2.exceptions.ProtocolError, httpcore.WriteError):
            pass  # the connection is over, and every call on it with it


class ProviderConnection(httpcore.AsyncConnectionInterface):
    """A connection from before it is made. Calls that it may be shared by wait for it together."""

    def __init__(self, origin: httpcore.Origin, pool: ProviderPool) -> None:
        self._origin = origin
        self._pool = pool
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._failure: Exception | None = None
        self._is_over = False
        self._stream: SocketStream | None = None
        self._inner: Http1Connection | Http2Connection | None = None

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        inner = self._inner or await self._connect()
        on_sending = request.extensions["on_sending"]
        on_sending(True)
        try:
            return await inner.handle_async_request(self._pool.address(request))
        except httpcore.ConnectionNotAvailable:
            on_sending(False)
            raise

    async def _connect(self) -> Http1Connection | Http2Connection:
        self._waiting += 1
        try:
            async with self._lock:
                if self._failure is not None:
                    raise self._failure
                if self._inner is None:
                    try:
                        self._stream = await self._pool.reach(self._origin)
                    except Exception as error:
                        self._failure = error
                        raise
                    self._inner = self._speak(self._stream)
                return self._inner
        finally:
            self._waiting -= 1
            # Who gave up while it was made leaves it to the others, if there are any.
            self._is_over = self._inner is None and (self._failure is not None or not self._waiting)

    def _speak(self, stream: SocketStream) -> Http1Connection | Http2Connection:
        """Return what is spoken on a new connection: what was agreed upon with TLS."""
        tls = stream.get_extra_info("ssl_object")
        if isinstance(tls, ssl.SSLObject):
            agreed = tls.selected_alpn_protocol()
            self._pool.shares = self._pool.settings.http2 and agreed == "h2"
            if agreed == "h2":
                return Http2Connection(self._origin, stream)
        return Http1Connection(self._pool.spoken_to(self._origin), stream, KEEPALIVE_S)

    def can_handle_request(self, origin: httpcore.Origin) -> bool:
        return origin == self._origin

    def is_available(self) -> bool:
        if self._inner is not None:
            return self._inner.is_available()
        is_shared = self._pool.shares and self._origin.scheme == b"https"
        return is_shared and not self.is_closed() and self._waiting < MAX_STREAMS

    def has_expired(self) -> bool:
        return self._is_over or (self._inner is not None and self._inner.has_expired())

    def is_idle(self) -> bool:
        return self._is_over or (self._inner is not None and self._inner.is_idle())

    def is_closed(self) -> bool:
        if self._is_over or (self._inner is not None and self._inner.is_closed()):
            return True
        return self.is_idle() and self._stream is not None and self._stream.is_over

    def info(self) -> str:
        return "connecting" if self._inner is None else self._inner.info()

    def cut(self) -> None:
        if self._stream is not None:
            self._stream.cut()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


class ProviderPool(httpcore.AsyncConnectionPool):
    """Connections with the same settings. shares: calls may wait for the same new connection, as
    the last one that was made speaks HTTP/2."""

    def __init__(
        self, settings: ConnectionSettings, *, connect_s: float, dialer: Dialer, quotas: LoopQuotas
    ) -> None:
        super().__init__(max_connections=None, max_keepalive_connections=None)
        self.settings = settings
        self.shares = settings.http2
        self.quotas = quotas
        self._connect_s = connect_s
        self._dialer = dialer
        self._context = provider_context(settings)
        self._via = httpcore.URL(settings.proxy_url) if settings.proxy_url else None
        self._proxy_context = proxy_context(settings)
        # What the proxy is shown: the header's value.
        pair = settings.proxy_credential.encode()
        self.credential = f"Basic {base64.b64encode(pair).decode()}" if pair else ""

    def create_connection(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        return ProviderConnection(origin, self)

    def spoken_to(self, origin: httpcore.Origin) -> httpcore.Origin:
        """Return who reads the requests: the proxy itself where they go by http://."""
        if self._via is None or origin.scheme != b"http":
            return origin
        return self._via.origin

    def address(self, request: httpcore.Request) -> httpcore.Request:
        """Return the request as the other side of the connection wants it."""
        proxy = self._via
        if proxy is None or request.url.scheme != b"http":
            return request
        shown = [(b"proxy-authorization", self.credential.encode())] if self.credential else []
        host = next(value for name, value in request.headers if name == b"host")
        target = b"http://%b%b" % (host, request.url.target)
        url = httpcore.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port, target=target)
        return httpcore.Request(
            request.method,
            url,
            headers=[*request.headers, *shown],
            content=request.stream,
            extensions={"on_sending": request.extensions["on_sending"]},
        )

    def close_idle(self, *, all_of_them: bool) -> bool:
        """Close what nobody has used for a while. Returns whether there are others."""
        for connection in list(self._connections):
            if connection.has_expired() or (all_of_them and connection.is_idle()):
                self._connections.remove(connection)
                cast(ProviderConnection, connection).cut()
        return bool(self._connections)

    def count_open(self) -> int:
        return sum(not connection.is_closed() for connection in self._connections)

    async def reach(self, origin: httpcore.Origin) -> SocketStream:
        """Return a new connection to the origin, TLS included. Raises OSError, ValueError or
        RuntimeError: nothing of a request has been sent."""
        stream = SocketStream(self.quotas)
        try:
            async with asyncio.timeout(self._connect_s):
                await self._dial(stream, origin)
            if stream.is_over:
                raise ConnectionAbortedError("The connection was closed before it was used.")
        except BaseException:
            stream.cut()
            raise
        return stream

    async def _dial(self, stream: SocketStream, origin: httpcore.Origin) -> None:
        first = origin if self._via is None else self._via.origin
        loop = self.quotas.connects.loop
        host, port = first.host.decode(), first.port or 0
        sock = await self._dialer.dial(host, port, self.quotas.connects)
        context = self._context if self._via is None else self._proxy_context
        is_secured = first.scheme == b"https"
        await loop.create_connection(
            lambda: stream,
            sock=sock,
            ssl=context if is_secured else None,
            server_hostname=host.rstrip(".") if is_secured else None,
        )
        if self._via is not None and origin.scheme == b"https":
            host = origin.host.decode()
            await connect_through(stream, host, origin.port or 443, self.credential)
            await stream.start_tls(self._context, host.rstrip("."))
