"""A Presidio and a LanguageTool that find what stands in a list, over real sockets.

They refuse what the real ones refuse, keep a log of what they were asked, and fail as they are told
to: `hang`, `refuse` (503) or `babble` (no JSON).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from tests.support.http_server import serving

NAMES = ("Quirin Zatopek", "Oda Weems")
SLIPS = {"recieve": "receive", "helo": "hello"}
TOKEN = "token-of-the-service"


class TextServices:
    """origin: of both services. fault: how they fail; empty for not at all."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.fault = ""
        # Path, headers and body of each request.
        self.asked: list[tuple[str, dict[str, str], str]] = []
        self.released = threading.Event()


def find_names(asked: dict[str, Any]) -> list[dict[str, Any]]:
    text = asked["text"]
    assert isinstance(asked["language"], str)
    return [
        {"entity_type": "PERSON", "start": one.start(), "end": one.end(), "score": 0.85}
        for name in NAMES
        for one in re.finditer(re.escape(name), text)
    ]


def find_slips(asked: dict[str, list[str]]) -> dict[str, Any]:
    [text] = asked["text"]
    # Java counts in UTF-16.
    return {
        "matches": [
            {
                "offset": len(text[: one.start()].encode("utf-16-le")) // 2,
                "length": len(slip),
                "replacements": [{"value": right}, {"value": "other"}],
            }
            for slip, right in SLIPS.items()
            for one in re.finditer(slip, text)
        ]
    }


def make_handler(services: TextServices) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            services.asked.append((self.path, headers, body))
            if services.fault == "hang":
                services.released.wait(60)
                self.close_connection = True
                return
            if services.fault == "refuse":
                self.answer(503, b"away")
            elif services.fault == "babble":
                self.answer(200, b"<html>")
            elif self.path == "/presidio/analyze":
                self.answer(200, json.dumps(find_names(json.loads(body))).encode())
            elif self.path == "/lt/v2/check":
                self.answer(200, json.dumps(find_slips(parse_qs(body))).encode())
            else:
                self.answer(404, b"{}")

        def answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    return Handler


@contextmanager
def running_text_services() -> Iterator[TextServices]:
    services = TextServices("")
    with serving(make_handler(services)) as server:
        services.origin = f"http://127.0.0.1:{server.server_port}"
        try:
            yield services
        finally:
            services.released.set()
