"""What an answer cites, as annotations of a message.

References: https://platform.claude.com/docs/en/build-with-claude/citations and, for the form of an
annotation, https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

import msgspec


class Citation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where a text is from. Which members there are depends on the type."""

    type: str
    cited_text: str = ""
    url: str | None = None
    title: str | None = None
    # Of search results: what the caller named them.
    source: str | None = None
    document_index: int | None = None
    document_title: str | None = None
    file_id: str | None = None
    search_result_index: int | None = None
    start_char_index: int | None = None
    end_char_index: int | None = None
    start_page_number: int | None = None
    end_page_number: int | None = None
    start_block_index: int | None = None
    end_block_index: int | None = None


def write_citation(citation: Citation, start: int, end: int) -> dict[str, object]:
    """Return the annotation of the content from start to end, in characters.

    OpenAI's own is that of a page of the web. That of a document names its place there.
    """
    place = {"start_index": start, "end_index": end}
    if citation.url is not None:
        page = {"url": citation.url, "title": citation.title or ""}
        return {"type": "url_citation", "url_citation": place | page}
    cited = msgspec.to_builtins(citation)
    return {"type": "file_citation", "file_citation": place | cited}
