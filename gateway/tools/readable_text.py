"""Finds the readable text of a web page. Imported in a child process alone
(gateway.processors.engine_pool).

A request has `content`, bytes, and `url`. The answer has `is_text`, False for what is no text at
all; `title`, `text`, and `is_cut`: there was more.
"""

from __future__ import annotations

import msgspec
import trafilatura

# HTML parsed into a tree is many times its size.
MEMORY_BYTES = 1024**3
MAX_TEXT_BYTES = 100_000
MAX_HTML_BYTES = 2 * 1024 * 1024
TITLE_CHARS = 300
HTML_MARKS = (b"<html", b"<!doctype html", b"<head", b"<body", b"<div", b"<p>", b"<p ")
LOOKED_AT_BYTES = 4_096


class Request(msgspec.Struct):
    content: bytes
    url: str


def handle(request: dict[str, object]) -> dict[str, object]:
    asked = msgspec.convert(request, Request)
    head = asked.content[:LOOKED_AT_BYTES].lower()
    if any(mark in head for mark in HTML_MARKS):
        title, text = read_html(asked.content[:MAX_HTML_BYTES], asked.url)
    elif b"\0" in head or not is_text(asked.content):
        return {"is_text": False, "title": "", "text": "", "is_cut": False}
    else:
        title, text = "", asked.content.decode("utf-8", "replace")
    text = text.strip()
    cut = text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    return {"is_text": True, "title": title[:TITLE_CHARS], "text": cut, "is_cut": cut != text}


def read_html(content: bytes, url: str) -> tuple[str, str]:
    """Return the title and the text of a page."""
    found = trafilatura.bare_extraction(
        content, url=url, include_comments=False, include_links=False, with_metadata=True
    )
    if found is None:
        return "", ""
    said = found if isinstance(found, dict) else found.as_dict()
    return str(said.get("title") or ""), str(said.get("text") or "")


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        # Other encodings than UTF-8 have few bytes that it does not.
        bad = content.decode("utf-8", "replace").count("�")
        return error.start > 0 and bad * 20 < len(content)
    return True
