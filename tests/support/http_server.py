"""An HTTP server in a thread, whose end is the end of its connections too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.ports import free_port


class ClosingHTTPServer(ThreadingHTTPServer):
    """Has a port that no server of this test process had lately, and closes the connections that
    callers keep open when it is closed.

    A gateway outlives such a server, and may still have a connection to it, or ask it for tokens
    again. A later server on the same port would be asked instead, or not be asked at all.
    """

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1") -> None:
        self._open: set[socket.socket] = set()
        super().__init__((host, free_port()), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in self._open.copy():
            with suppress(OSError):  # closed in this moment
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1"
) -> Iterator[ClosingHTTPServer]:
    server = ClosingHTTPServer(handler, host)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
