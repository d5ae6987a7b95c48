"""The body of a request, read no further than it may be long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gateway.core.errors import (
    CallerLeft,
    PayloadTooLarge,
    RequestError,
    UnsupportedMediaType,
)
from gateway.core.request import RequestHead

UTF_8 = frozenset({b"utf-8", b"utf8", b"us-ascii"})  # the last is a part of the first


async def read_limited(
    head: RequestHead, receive: Callable[[], Awaitable[dict[str, Any]]], limit_bytes: int
) -> bytes:
    """Return the whole body.

    Raises PayloadTooLarge from the declared length before reading anything, or as soon as the
    real length exceeds the limit; RequestError for a body that is declared not to be JSON or to
    be compressed; UnsupportedMediaType for another charset than UTF-8; CallerLeft when the caller
    hangs up first.
    """
    check_head(head, limit_bytes)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body = message.get("body", b"")
        if len(body) > limit_bytes:
            raise too_large(limit_bytes)
        return bytes(body)
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise CallerLeft
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit_bytes:
            raise too_large(limit_bytes)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def check_head(head: RequestHead, limit_bytes: int) -> None:
    """Refuse what the head alone shows to be wrong with the body."""
    length = head.first(b"content-length")
    if length.isdigit() and int(length) > limit_bytes:
        raise too_large(limit_bytes)
    if head.first(b"content-encoding").strip().lower() not in (b"", b"identity"):
        raise RequestError("Compressed bodies are not accepted.", param="Content-Encoding")
    kind = head.first(b"content-type")
    if kind == b"application/json":
        return
    kind, *parameters = kind.lower().split(b";")
    kind = kind.strip()
    if kind and kind != b"application/json" and not kind.endswith(b"+json"):
        raise RequestError("The Content-Type must be application/json.", param="Content-Type")
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"charset" and value.strip().strip(b'"') not in UTF_8:
            raise UnsupportedMediaType("JSON is UTF-8: no other charset.", param="Content-Type")


def too_large(limit_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body is larger than {limit_bytes} bytes.")
