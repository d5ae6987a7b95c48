"""What an answer shows of the tools behind it: the pages that the model was given, as annotations,
and the pictures that were made for it."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.core.json_types import JsonObject
from gateway.core.server_tools import Citation, ToolResult

MAX_CITATIONS = 50


class Sources:
    """Of one attempt of a call."""

    def __init__(self) -> None:
        self._citations: dict[str, Citation] = {}
        self.images: list[JsonObject] = []

    def add(self, result: ToolResult) -> list[JsonObject]:
        """Keep what a tool has returned. Returns the pictures, as messages have them."""
        for citation in result.citations:
            if len(self._citations) < MAX_CITATIONS:
                self._citations.setdefault(citation.url, citation)
        images = [{"type": "image_url", "image_url": {"url": url}} for url in result.images]
        self.images += images
        return images

    def annotations(self, text: str) -> list[JsonObject]:
        """Return the citations of an answer: of a page that it names the place where it does, of
        others the end of the text, both indices."""
        places = ((one, *find(one.url, text)) for one in self._citations.values())
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "url": one.url,
                    "title": one.title,
                    "start_index": start,
                    "end_index": end,
                },
            }
            for one, start, end in sorted(places, key=lambda place: place[1])
        ]


def find(url: str, text: str) -> tuple[int, int]:
    """Return where a text names a URL first: the URL, or the Markdown link around it."""
    at = text.find(url)
    if at < 0:
        return len(text), len(text)
    start, end = at, at + len(url)
    if text[:at].endswith("](") and text[end : end + 1] == ")":
        opening = text.rfind("[", 0, at - 2)
        if opening >= 0:
            return opening, end + 1
    return start, end


def join(texts: Iterable[str]) -> str:
    """Return what was said in several rounds as one text."""
    whole = ""
    for text in texts:
        whole += separator(whole, text) + text
    return whole


def separator(before: str, text: str) -> str:
    """Return what stands between the text of a round and that of a later one."""
    return "\n\n" if before and text and not before[-1].isspace() else ""
