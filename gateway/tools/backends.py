"""What searches the web for the tool web_search: a service, or an index of the operator's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from yarl import URL

from gateway.tools.base import Reply, ToolContext, ToolFailed

MAX_BACKEND_BYTES = 4 * 1024 * 1024
BACKEND_S = 20.0
SNIPPET_CHARS = 600
TITLE_CHARS = 300
MAX_URL_CHARS = 2_000
_encode = msgspec.json.encode
_WORD = re.compile(r"\w+")


class Hit(NamedTuple):
    """A page that was found."""

    title: str
    url: str
    snippet: str


class Query(NamedTuple):
    """What is asked of a service. body: None for a GET."""

    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


class Backend(Protocol):
    """A service that searches."""

    label: str
    base_url: str
    needs_secret: bool

    def write(self, query: str, count: int, secret: str) -> Query: ...

    def read(self, content: bytes) -> Sequence[Hit]:
        """Raises msgspec.MsgspecError for what is no answer of the service."""


class _Result(Struct):
    """A result in the words of any of the services."""

    url: str = ""
    title: str | None = None
    description: str | None = None
    content: str | None = None
    text: str | None = None

    def hit(self) -> Hit:
        said = self.description or self.content or self.text or ""
        return Hit((self.title or "")[:TITLE_CHARS], self.url, said[:SNIPPET_CHARS])


class _Results(Struct):
    results: list[_Result] = []


class _BraveAnswer(Struct):
    web: _Results | None = None


class Brave:
    """https://api-dashboard.search.brave.com/app/documentation/web-search/get-started"""

    label = "Brave Search"
    base_url = "https://api.search.brave.com"
    needs_secret = True

    def write(self, query: str, count: int, secret: str) -> Query:
        # Without decorations: snippets would have HTML in them.
        asked = {"q": query, "count": count, "text_decorations": "false"}
        path = "/res/v1/web/search?" + urlencode(asked)
        return Query(path, {"x-subscription-token": secret, "accept": "application/json"})

    def read(self, content: bytes) -> Sequence[Hit]:
        found = msgspec.json.decode(content, type=_BraveAnswer).web
        return [one.hit() for one in found.results] if found else []


class Tavily:
    """https://docs.tavily.com/documentation/api-reference/endpoint/search"""

    label = "Tavily"
    base_url = "https://api.tavily.com"
    needs_secret = True

    def write(self, query: str, count: int, secret: str) -> Query:
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        return Query("/search", headers, _encode({"query": query, "max_results": count}))

    def read(self, content: bytes) -> Sequence[Hit]:
        return [one.hit() for one in msgspec.json.decode(content, type=_Results).results]


class Exa:
    """https://docs.exa.ai/reference/search"""

    label = "Exa"
    base_url = "https://api.exa.ai"
    needs_secret = True

    def write(self, query: str, count: int, secret: str) -> Query:
        headers = {"x-api-key": secret, "content-type": "application/json"}
        contents = {"text": {"maxCharacters": SNIPPET_CHARS}}
        body = {"query": query, "numResults": count, "contents": contents}
        return Query("/search", headers, _encode(body))

    def read(self, content: bytes) -> Sequence[Hit]:
        return [one.hit() for one in msgspec.json.decode(content, type=_Results).results]


class SearXNG:
    """https://docs.searxng.org/dev/search_api.html; the instance has to allow the format json."""

    label = "SearXNG"
    base_url = ""
    needs_secret = False

    def write(self, query: str, count: int, secret: str) -> Query:
        path = "/search?" + urlencode({"q": query, "format": "json"})
        return Query(path, {"authorization": f"Bearer {secret}"} if secret else {})

    def read(self, content: bytes) -> Sequence[Hit]:
        return [one.hit() for one in msgspec.json.decode(content, type=_Results).results]


STATIC = "static"
SERVICES: dict[str, Backend] = {
    "brave": Brave(),
    "tavily": Tavily(),
    "exa": Exa(),
    "searxng": SearXNG(),
}
BACKENDS = (*SERVICES, STATIC)
LABELS = {name: one.label for name, one in SERVICES.items()} | {STATIC: "Static index"}


async def search(context: ToolContext, query: str, count: int) -> list[Hit]:
    """Return at most so many pages. Raises ToolFailed, RateLimited."""
    record = context.record
    if record.backend == STATIC:
        return search_documents(record.documents, query, count)
    service = SERVICES[record.backend]
    asked = service.write(query, count, record.secret)
    reply = await _send(context, (record.base_url or service.base_url).rstrip("/"), asked)
    if reply.status != 200:
        raise ToolFailed(f"The search answered with the status {reply.status}.")
    try:
        found = service.read(reply.content)
    except (msgspec.MsgspecError, ValueError):
        raise ToolFailed("The search sent an invalid response.") from None
    return [hit for hit in found if hit.url and len(hit.url) <= MAX_URL_CHARS][:count]


async def _send(context: ToolContext, base_url: str, asked: Query) -> Reply:
    """Ask a service: an operator's may be on a private network, a workspace's goes by the guard."""
    url, method = base_url + asked.path, "GET" if asked.body is None else "POST"
    headers, content = asked.headers, asked.body or b""
    if context.record.is_own:
        return await context.send(
            url, method=method, headers=headers, content=content, max_bytes=MAX_BACKEND_BYTES
        )
    client = context.services.open_client(base_url)
    try:
        async with asyncio.timeout(BACKEND_S):
            return await client.send(
                URL(url, encoded=True), method=method, headers=headers, content=content
            )
    except TimeoutError:
        raise ToolFailed(f"The search did not answer within {BACKEND_S:g} s.") from None
    except Exception as error:
        # Of the address and of the credential nothing is told.
        raise ToolFailed(f"The search could not be reached ({type(error).__name__}).") from None
    finally:
        await client.aclose()


def search_documents(documents: Sequence[Mapping[str, str]], query: str, count: int) -> list[Hit]:
    """Return the documents that share most words with the query, the first of equal ones first."""
    wanted = set(_words(query))
    scored = []
    for place, document in enumerate(documents):
        words = _words(f"{document['title']} {document['text']}")
        shared = len(wanted.intersection(words))
        if shared:
            scored.append((-shared, place, document))
    return [
        Hit(one["title"][:TITLE_CHARS], one["url"], one["text"][:SNIPPET_CHARS])
        for _, _, one in sorted(scored, key=lambda each: each[:2])[:count]
    ]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
