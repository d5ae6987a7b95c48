"""Test calls, as services make them, and servers that give them one answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from gateway.core.money import Price
from gateway.outbound.findings import Finding
from gateway.providers.call_check import CallCheck, check_by_call
from gateway.providers.catalogue import BY_NAME
from gateway.services.outbound_clients import open_proxied_client
from gateway.snapshot.types import TargetRecord
from tests.support.http_server import serving

SECRET = "sk-canary-5f1e0c77"
MODEL = "some-model"


def check(base_url: str, *, kind: str = "openai_compatible", **fields: Any) -> Finding:
    """Make the call. fields: of the target, or of the check where they are none of that."""
    of_check = {
        name: fields.pop(name) for name in ("operation", "credential", "call_s") if name in fields
    }
    target: dict[str, Any] = {
        "model": MODEL,
        "provider": "up",
        "kind": kind,
        "base_url": base_url,
        "native_model": MODEL,
        "price": Price(0, 0, 0),
        "secret": SECRET,
        "settings": BY_NAME[kind].complete(fields.pop("settings", {})),
    }
    made = TargetRecord(**(target | fields))
    asked = CallCheck(
        target=made,
        open_client=open_proxied_client,
        connect_s=10,
        proxy_url=made.connection.proxy_url if made.connection else "",
        **of_check,
    )
    return asyncio.run(check_by_call(asked))


@contextmanager
def answering(
    status: int,
    body: object,
    headers: dict[str, str] | None = None,
    *,
    asked: list[bytes] | None = None,
) -> Iterator[str]:
    """Run a server that gives this answer to everything; yield its origin. asked: gets
    the bodies of requests."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            read = self.rfile.read(int(self.headers.get("content-length", 0)))
            if asked is not None:
                asked.append(read)
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with serving(Handler) as server:
        yield f"http://127.0.0.1:{server.server_port}"
