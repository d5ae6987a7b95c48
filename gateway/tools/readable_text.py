"""Finds the readable text of a web page. Imported in a child process alone
(gateway.processors.engine_pool).

A request has `content`, bytes, and `url`. The answer has `is_text`, False for what is no text at
all; `is_slow`, True for a page that takes too long to read; `title`, `text`, and `is_cut`: there
was more.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import trafilatura

# HTML parsed into a tree is many times its size.
MEMORY_BYTES = 1024**3
MAX_TEXT_BYTES = 100_000
MAX_HTML_BYTES = 2 * 1024 * 1024
TITLE_CHARS = 300
HTML_MARKS = (b"<html", b"<!doctype html", b"<head", b"<body", b"<div", b"<p>", b"<p ")
LOOKED_AT_BYTES = 4_096
# Of the processor, for one page. It is less than what the pool grants, which would start over.
READ_S = 1.5


class TooSlow(BaseException):
    """A page takes too long to read. No Exception: those are caught while a page is read."""


class Request(msgspec.Struct):
    content: bytes
    url: str


def handle(request: dict[str, object]) -> dict[str, object]:
    asked = msgspec.convert(request, Request)
    said: dict[str, object] = {"is_text": True, "is_slow": False, "title": "", "text": ""}
    said["is_cut"] = False
    head = asked.content[:LOOKED_AT_BYTES].lower()
    if any(mark in head for mark in HTML_MARKS):
        try:
            with limited_time(READ_S):
                title, text = read_html(asked.content[:MAX_HTML_BYTES], asked.url)
        except TooSlow:
            return said | {"is_slow": True}
    elif b"\0" in head or not is_text(asked.content):
        return said | {"is_text": False}
    else:
        title, text = "", asked.content.decode("utf-8", "replace")
    text = text.strip()
    cut = text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    return said | {"title": title[:TITLE_CHARS], "text": cut, "is_cut": cut != text}


@contextmanager
def limited_time(limit_s: float) -> Iterator[None]:
    """Raise TooSlow inside when it has used the processor for so long."""

    def stop(number: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


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
