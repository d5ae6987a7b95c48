"""Brave, Tavily, Exa and a SearXNG that find two pages, over real sockets.

They refuse what the real ones refuse: a missing or wrong credential, another method or path,
members that they do not have, and values outside their limits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.http_server import serving

SECRET = "secret-of-the-search"
PAGES = [
    ("Weather", "https://example.com/weather", "The <strong>weather</strong> is fine."),
    ("Tides", "https://example.com/tides", "High tide at noon."),
]
TAVILY = frozenset({"query", "max_results", "search_depth", "topic", "include_answer"})
EXA = frozenset({"query", "numResults", "type", "contents"})
BRAVE = frozenset({"q", "count", "offset", "country", "search_lang", "text_decorations"})
Answer = tuple[int, Any]


class SearchServices:
    """port: of all services, each below a path of its name. asked: what came, by service."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, str]] = []

    def url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.port}/{service}"


def plain(text: str) -> str:
    return text.replace("<strong>", "").replace("</strong>", "")


def brave(query: dict[str, str], headers: dict[str, str]) -> Answer:
    if headers.get("x-subscription-token") != SECRET:
        return 422, {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}
    text, count = query.get("q", ""), query.get("count", "20")
    is_valid = 0 < len(text) <= 400 and len(text.split()) <= 50 and 1 <= int(count) <= 20
    if not is_valid or not query.keys() <= BRAVE:
        return 422, {"type": "ErrorResponse", "error": {"code": "VALIDATION"}}
    shows = plain if query.get("text_decorations") == "false" else str
    found = [{"title": t, "url": u, "description": shows(d)} for t, u, d in PAGES]
    return 200, {"type": "search", "web": {"type": "search", "results": found[: int(count)]}}


def searxng(query: dict[str, str], headers: dict[str, str]) -> Answer:
    if not query.get("q"):
        return 400, {"error": "No query"}
    if query.get("format") != "json":
        return 403, {}
    found = [{"title": t, "url": u, "content": plain(d), "engine": "x"} for t, u, d in PAGES]
    return 200, {"query": query["q"], "results": found, "unresponsive_engines": []}


def tavily(body: dict[str, Any], headers: dict[str, str]) -> Answer:
    if headers.get("authorization") != f"Bearer {SECRET}":
        return 401, {"detail": {"error": "Unauthorized: missing or invalid API key."}}
    count = body.get("max_results", 5)
    if not body.get("query") or not body.keys() <= TAVILY or not 0 <= count <= 20:
        return 400, {"detail": {"error": "The request is not valid."}}
    found = [{"title": t, "url": u, "content": plain(d), "score": 0.9} for t, u, d in PAGES]
    return 200, {"query": body["query"], "answer": None, "images": [], "results": found[:count]}


def exa(body: dict[str, Any], headers: dict[str, str]) -> Answer:
    if headers.get("x-api-key") != SECRET:
        return 401, {"error": "Invalid API key", "tag": "INVALID_API_KEY"}
    count, contents = body.get("numResults", 10), body.get("contents", {})
    if not body.get("query") or not body.keys() <= EXA or not 1 <= count <= 100:
        return 400, {"error": "Invalid request body", "tag": "INVALID_REQUEST_BODY"}
    text = contents.get("text")
    found: list[dict[str, Any]] = [{"id": u, "title": t, "url": u} for t, u, _ in PAGES]
    if text:
        for page, (_, _, said) in zip(found, PAGES, strict=True):
            page["text"] = plain(said)[: text["maxCharacters"]]
    return 200, {"requestId": "r", "results": found[:count]}


GET = {"/brave/res/v1/web/search": brave, "/searxng/search": searxng}
POST = {"/tavily/search": tavily, "/exa/search": exa}


def make_handler(found: list[SearchServices]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.answer_with(GET, POST, parts.path, query)

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            is_json = self.headers.get("content-type") == "application/json"
            self.answer_with(POST, GET, self.path, json.loads(raw) if is_json else {})

        def answer_with(self, ours: Any, others: Any, path: str, asked: dict[str, Any]) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found[0].asked.append((path.split("/")[1], str(asked.get("q") or asked.get("query"))))
            if path in ours:
                self.answer(*ours[path](asked, headers))
            else:
                self.answer(405 if path in others else 404, {})

        def answer(self, status: int, said: Any) -> None:
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    return Handler


@contextmanager
def running_search_services() -> Iterator[SearchServices]:
    found: list[SearchServices] = []
    with serving(make_handler(found)) as server:
        found.append(SearchServices(server.server_port))
        yield found[0]
