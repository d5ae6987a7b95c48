"""The head of an answer: what every answer says of its call, and what only some do."""

from __future__ import annotations

import re

from gateway.core.grant import Grant
from gateway.core.profiles import Profile
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.http.headers import server_timing

Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
MAX_DROPPED_CHARS = 4096
# What callers call a parameter is no way to write headers.
UNPRINTABLE = re.compile(r"[^!-~]")
STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def common(head: RequestHead, profile: Profile, grant: Grant | None) -> Headers:
    """Return the headers of every answer, errors included. grant: None before admission."""
    shown_id = head.request_id if grant is None else grant.shown_id
    headers = [(b"x-request-id", shown_id.encode())]
    if not profile.is_ours:
        headers.append((b"x-compat-profile", profile.name.encode()))
    client_id = head.client_id() if grant is None else grant.identity.client_request_id
    if client_id and (grant is None or not grant.adopted_id):
        headers.append((b"x-client-request-id", client_id.encode()))
    return headers


def of_answer(head: RequestHead, grant: Grant, form: AnswerForm) -> Headers:
    """Return the headers of an answer that a model gave."""
    headers = common(head, form.profile, grant)
    headers.append((b"x-generation-id", form.answer_id.encode()))
    headers.append((b"x-model-used", grant.model.encode()))
    if grant.fallback_depth:
        headers.append((b"x-fallback-from", grant.fallback_from.encode()))
        headers.append((b"x-fallback-depth", b"%d" % grant.fallback_depth))
    if form.dropped_params:
        names = ",".join(form.dropped_params)[:MAX_DROPPED_CHARS]
        headers.append((b"x-dropped-params", UNPRINTABLE.sub("?", names).encode()))
    return headers


def of_body(form: AnswerForm, body: bytes, receipt: Receipt, media_type: str) -> Headers:
    """Return the headers that only a buffered answer has. media_type: empty for JSON."""
    return [
        (b"content-type", media_type.encode()) if media_type else JSON,
        (b"content-length", b"%d" % len(body)),
        (b"x-credits-used", b"%a" % form.credits(receipt)),
        (b"server-timing", server_timing(receipt)),
    ]


def of_plain(head: RequestHead, profile: Profile, body: bytes) -> Headers:
    """Return the headers of an answer that no model gave."""
    length = (b"content-length", b"%d" % len(body))
    return [*common(head, profile, None), JSON, length, (b"cache-control", b"no-store")]


def of_stream(head: RequestHead, grant: Grant, form: AnswerForm, media_type: str) -> Headers:
    """Return the headers of a stream. media_type: empty for one of events."""
    headers = of_answer(head, grant, form)
    if media_type:
        headers.append((b"content-type", media_type.encode()))
        headers += STREAM_HEADERS[1:]
    else:
        headers += STREAM_HEADERS
    if grant.lease is not None:
        queued_ms = (grant.lease.queued_us + 500) // 1000
        if queued_ms:
            headers.append((b"x-inferada-queued-ms", b"%d" % queued_ms))
    return headers
