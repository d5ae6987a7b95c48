"""Where Prometheus reads the metrics: at a port of their own, or at /metrics of the server's port
with a token. Neither unless a setting asks for it."""

from __future__ import annotations

import asyncio
import errno
import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from gateway.core.asgi import Receive, Scope, Send
from gateway.metrics.probes import answer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

log = logging.getLogger(__name__)

RETRY_S = 1.0
SILENT_S = 10
UNAUTHORIZED = b'{"status":"unauthorized"}'

Render = Callable[[str], tuple[bytes, str]]


def make_render(registry: CollectorRegistry) -> Render:
    """Return a function that renders all metrics, in the format that an Accept header asks for,
    with its content type. Takes milliseconds: not for the event loop."""
    ProcessCollector(registry=registry)

    def render(accept: str) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type

    return render


class Token:
    """The bearer token that readers have to show; none where it is empty."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def accepts(self, authorization: bytes) -> bool:
        scheme, _, shown = authorization.partition(b" ")
        if not self._token:
            return True
        return scheme.lower() == b"bearer" and hmac.compare_digest(shown.strip(), self._token)


class MetricsEndpoint:
    """/metrics at the server's own port."""

    def __init__(self, render: Render, token: Token) -> None:
        self._render = render
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = dict(scope["headers"])
        if not self._token.accepts(fields.get(b"authorization", b"")):
            challenge = (b"www-authenticate", b"Bearer")
            await answer(scope, send, 401, UNAUTHORIZED, b"application/json", challenge)
            return
        accept = fields.get(b"accept", b"").decode("latin-1")
        body, content_type = await asyncio.to_thread(self._render, accept)
        await answer(scope, send, 200, body, content_type.encode())


class _Handler(WSGIRequestHandler):
    timeout = SILENT_S  # of a reader that sends nothing

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are not logged."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6


class MetricsListener:
    """/metrics at a port of its own. It has its own thread, so it answers while the loop is busy.

    A port that is in use is tried again until it is free: metrics keep no process from serving.
    patience_s: how long it may be in use before the log says so: by the process that this one
    replaces.
    """

    def __init__(
        self, host: str, port: int, render: Render, token: Token, *, patience_s: float = 0
    ) -> None:
        self._patience_s = patience_s
        self._host, self._port = host, port
        self._render = render
        self._token = token
        self._ending = threading.Event()
        self._server: WSGIServer | None = None
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        if self._server is not None:
            self._server.shutdown()
        self._thread.join()

    def _run(self) -> None:
        complained, kind = False, _Server6 if ":" in self._host else _Server
        begun = time.monotonic()
        while not self._ending.is_set():
            try:
                self._server = make_server(
                    self._host, self._port, self._serve, kind, handler_class=_Handler
                )
            except OSError as error:
                waits = error.errno == errno.EADDRINUSE
                if not complained and not (waits and time.monotonic() - begun < self._patience_s):
                    log.error(
                        "Metrics cannot be served at %s:%s (TOLLHOUSE_METRICS_HOST, "
                        "TOLLHOUSE_METRICS_PORT): %s. Trying again every second.",
                        *(self._host, self._port, error.strerror or error),
                    )
                    complained = True
                self._ending.wait(RETRY_S)
                continue
            with self._server as server:
                server.serve_forever(poll_interval=0.1)
            return

    def _serve(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        status, headers = HTTPStatus.OK, list[tuple[str, str]]()
        if environ.get("PATH_INFO") != "/metrics":
            status, body, content_type = HTTPStatus.NOT_FOUND, b"See /metrics.\n", "text/plain"
        elif not self._token.accepts(environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")):
            status, body, content_type = HTTPStatus.UNAUTHORIZED, UNAUTHORIZED, "application/json"
            headers.append(("WWW-Authenticate", "Bearer"))
        else:
            body, content_type = self._render(environ.get("HTTP_ACCEPT", ""))
        headers += [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start(f"{status.value} {status.phrase}", headers)
        return [body]
