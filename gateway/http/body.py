"""The body of a request, read no further than it may be long."""

from __future__ import annotations

from io import BytesIO

from gateway.core.asgi import Receive
from gateway.core.errors import (
    CallerLeft,
    Overloaded,
    PayloadTooLarge,
    RequestError,
    UnsupportedMediaType,
)
from gateway.core.request import Reply, RequestHead

KB = 1024
JSON, FORM = b"application/json", b"multipart/form-data"
UTF_8 = frozenset({b"utf-8", b"utf8", b"us-ascii"})  # the last is a part of the first


async def read_body(
    head: RequestHead,
    receive: Receive,
    limit_bytes: int,
    reply: Reply | None,
    owner: str,
    body_type: bytes = JSON,
) -> bytes:
    """Return the whole body.

    reply, owner: where the memory that it takes is counted, and for which key. body_type: what it
    has to be.
    Raises PayloadTooLarge, RequestError and UnsupportedMediaType for what the head tells before
    reading anything, PayloadTooLarge as soon as it is longer than the limit, Overloaded when there
    is no memory for it, CallerLeft when the caller hangs up first.
    """
    check_head(head, limit_bytes, body_type)
    if reply is None:
        return await _read(receive, limit_bytes)
    reply.claim_body(owner)
    whole = reply.take_body()
    if whole is not None:
        if len(whole) > limit_bytes:
            raise too_large(limit_bytes)
        return whole
    try:
        body = await _read(receive, limit_bytes)
    except CallerLeft:
        if reply.hold is not None and reply.hold.is_refused:
            raise Overloaded from None
        raise
    if reply.hold is not None:
        reply.hold.read()
    return body


async def _read(receive: Receive, limit_bytes: int) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body = bytes(message.get("body", b""))
        if len(body) > limit_bytes:
            raise too_large(limit_bytes)
        return body
    # It grows in place and gives away what it has: parts in a list would be joined to a copy.
    parts = BytesIO()
    while True:
        if message["type"] == "http.disconnect":
            raise CallerLeft
        if parts.write(message.get("body", b"")) and parts.tell() > limit_bytes:
            raise too_large(limit_bytes)
        if not message.get("more_body"):
            return parts.getvalue()
        message = await receive()


def check_head(head: RequestHead, limit_bytes: int, body_type: bytes = JSON) -> None:
    """Refuse what the head alone shows to be wrong with the body.

    Raises PayloadTooLarge for the length that it tells, RequestError for a body that is declared
    not to be of its type or to be compressed, UnsupportedMediaType for another charset than UTF-8.
    """
    fields = head.fields
    length = fields.get(b"content-length", b"")
    if length.isdigit() and int(length) > limit_bytes:
        raise too_large(limit_bytes)
    if fields.get(b"content-encoding", b"").strip().lower() not in (b"", b"identity"):
        raise RequestError("Compressed bodies are not accepted.", param="Content-Encoding")
    kind = fields.get(b"content-type", b"")
    if kind == body_type:
        return
    kind, *parameters = kind.lower().split(b";")
    kind = kind.strip()
    if body_type != JSON:
        if kind != body_type:
            raise RequestError(
                f"The Content-Type must be {body_type.decode()}.", param="Content-Type"
            )
        return
    if kind and kind != JSON and not kind.endswith(b"+json"):
        raise RequestError("The Content-Type must be application/json.", param="Content-Type")
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"charset" and value.strip().strip(b'"') not in UTF_8:
            raise UnsupportedMediaType("The charset must be UTF-8.", param="Content-Type")


def too_large(limit_bytes: int) -> PayloadTooLarge:
    """Return the refusal of a body that is longer than an address takes."""
    size = f"{limit_bytes // KB} KB" if limit_bytes % KB == 0 else f"{limit_bytes} bytes"
    return PayloadTooLarge(f"The request body exceeds {size}, the limit for this URL.")
