"""What the fake upstream answers besides chat completions: its book, and a list of models.

GET /book             {"calls": […], "requests": n, "open_connections": n}
GET /book?id=a&id=b   the entries of these x-request-ids
DELETE /book          forget everything
POST /gates/a         let go on whoever waits, or will, before the gate `a`
GET /v1/models        one model
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.fakes.asked import Request
from tests.fakes.book import TokenBook
from tests.fakes.outgoing import head


def answer_control(
    request: Request, book: TokenBook, gates: Mapping[str, asyncio.Event], open_connections: int
) -> bytes:
    """Return the whole response. `open_connections` counts the asker's own."""
    url = urlsplit(request.path)
    status = 200
    value: object
    if (request.method, url.path) == ("GET", "/book"):
        entries = book.find(set(parse_qs(url.query).get("id", [])))
        value = {
            "calls": [entry.as_json() for entry in entries],
            "requests": book.requests,
            "open_connections": open_connections,
        }
    elif (request.method, url.path) == ("DELETE", "/book"):
        book.clear()
        value = {"calls": []}
    elif request.method == "POST" and url.path.startswith("/gates/"):
        gates[url.path.removeprefix("/gates/")].set()
        value = {}
    elif request.method == "GET" and url.path.endswith("/models"):
        model = {"id": "fake", "object": "model", "created": 0, "owned_by": "fake"}
        value = {"object": "list", "data": [model]}
    else:
        status = 404
        value = {"error": {"message": f"No {request.method} {url.path} here.", "code": "not_found"}}
    body = msgspec.json.encode(value)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head(status, headers) + body
