"""A web server for files, on any address of this host, that tells who came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.support.http_server import ClosingHTTPServer

Headers = Mapping[str, str]
# From the path to status, headers and body; a body in pieces is sent without its length.
Answer = tuple[int, Headers, bytes | Iterator[bytes]]
Serve = Callable[[str], Answer]


class FileServer:
    """What it was asked is in `requests`: path and headers, names in lower case."""

    def __init__(self, serve: Serve, host: str) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.host = host
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                named = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append((self.path, named))
                status, headers, body = serve(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes) and "content-length" not in headers:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                try:
                    for piece in (body,) if isinstance(body, bytes) else body:
                        self.wfile.write(piece)
                except ConnectionError:
                    pass  # whoever asked has had enough

            def log_message(self, *words: object) -> None:
                pass

        self._http = ClosingHTTPServer(Handler, host)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}:{self.port}{path}"

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving_files(serve: Serve, *, host: str = "127.0.0.1") -> Iterator[FileServer]:
    """Run a server that answers as `serve` says; every address of 127/8 is this host's."""
    server = FileServer(serve, host)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
