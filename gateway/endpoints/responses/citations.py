"""Citations of web pages, and the texts that have them.

Chat completions have one text, and each index is a place in it. Here what was said may be several
texts: of several rounds of tools, with reasoning or pictures between them.
"""

from __future__ import annotations

from msgspec import Struct

from gateway.core.json_types import JsonObject, JsonValue
from gateway.endpoints.responses.response_schema import OutputTextPart

NAMES = ("start_index", "end_index", "title", "url")


class SaidText(Struct):
    """A text, its place in the output, and where in all that was said it begins and ends."""

    part: OutputTextPart
    place: JsonObject
    begin: int
    end: int

    def localise(self, citation: JsonObject) -> JsonObject:
        """Return a citation with places in this text."""
        length = self.end - self.begin
        start = min(max(citation["start_index"] - self.begin, 0), length)
        end = min(max(citation["end_index"] - self.begin, start), length)
        return citation | {"start_index": start, "end_index": end}


class SaidTexts:
    """The texts of one response."""

    def __init__(self) -> None:
        self._all: list[SaidText] = []

    def begin(self, part: OutputTextPart, place: JsonObject) -> None:
        at = self._all[-1].end if self._all else 0
        self._all.append(SaidText(part, place, at, at))

    def add(self, text: str) -> None:
        """Add a piece to the last text."""
        self._all[-1].end += len(text)

    def find(self, citation: JsonObject) -> SaidText | None:
        """Return the text that a citation is of; None where nothing was said."""
        start = citation["start_index"]
        for text in self._all:
            if start < text.end:
                return text
        return self._all[-1] if self._all else None


def read_annotation(annotation: JsonValue) -> JsonObject | None:
    """Return a citation of a web page as this format has it; None for anything else."""
    if not isinstance(annotation, dict):
        return None
    cited = annotation.get("url_citation")
    if annotation.get("type") != "url_citation" or not isinstance(cited, dict):
        return None
    if not all(name in cited for name in NAMES):
        return None
    if not all(type(cited[name]) is int for name in NAMES[:2]):
        return None
    return {"type": "url_citation"} | {name: cited[name] for name in NAMES}
