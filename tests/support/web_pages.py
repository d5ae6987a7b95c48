"""Pages on a server of this machine, for what fetches them: some only come when a gate opens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from tests.support.http_server import serving

PAGE = b"""<!doctype html><html><head><title>The lighthouse</title></head><body><nav>Menu</nav>
<article><h1>The lighthouse</h1><p>The lighthouse at the cape was built in 1859 by two brothers, who
lived in it until they were old.</p><p>Its lamp is lit each evening by the youngest of the keepers,
and seen by ships as far away as the islands in the north.</p></article></body></html>"""
GATE_S = 60.0


class WebPages:
    """port: of 127.0.0.1. asked: the paths that were asked for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[str] = []
        self.files: dict[str, bytes] = {"/page": PAGE, "/slow": PAGE}
        self.reached, self.gate = threading.Event(), threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"


@contextmanager
def serving_pages() -> Iterator[WebPages]:
    """/page is a page, /slow is one that waits for the gate, everything else is not there."""
    found: list[WebPages] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages = found[0]
            pages.asked.append(self.path)
            if self.path == "/slow":
                pages.reached.set()
                pages.gate.wait(GATE_S)
            content = pages.files.get(self.path, b"")
            self.send_response(200 if content else 404)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked has had enough
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with serving(Handler) as server:
        found.append(WebPages(server.server_port))
        try:
            yield found[0]
        finally:
            found[0].gate.set()
