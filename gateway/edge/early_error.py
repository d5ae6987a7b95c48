"""Errors that are sent before any application runs, and a close of the connection that lets the
caller read them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.admission.profile import choose_profile
from gateway.core.errors import GatewayError, RequestError
from gateway.core.ids import new_request_id
from gateway.core.profiles import BY_NAME, UNIFIED, Profile
from gateway.core.request import RequestHead
from gateway.edge.connection_limits import ConnectionLimiter
from gateway.edge.cors import MOUNTS
from gateway.edge.https import HSTS
from gateway.endpoints.registry import api_format_at, body_paths
from gateway.http.error_response import error_response


def early_error(
    error: GatewayError,
    limiter: ConnectionLimiter,
    target: bytes,
    asked: Sequence[tuple[bytes, bytes]],
    *,
    is_trusted: bool = False,
) -> bytes:
    """Return a whole response after which the connection closes.

    target, asked: of the request that is refused as far as it has been read; empty if it was not.
    is_trusted: it came through a proxy whose word counts.
    """
    limiter.refused[error.code] += 1
    path = target.partition(b"?")[0].decode("latin-1")
    profile = find_profile(path, asked, limiter.limits.default_profile)
    request_id = new_request_id()
    status, headers, body = error_response(error, request_id, profile, api_format_at(path))
    if limiter.error_page is not None and wants_page(path, asked):
        wait = [header for header in headers if header[0] == b"retry-after"]
        headers, body = limiter.error_page(status, error.message)
        headers = [*headers, *wait, (b"content-length", b"%d" % len(body))]
    headers.append((b"x-request-id", request_id.encode()))
    if not profile.is_ours:
        headers.append((b"x-compat-profile", profile.name.encode()))
    if limiter.origins is not None:
        headers += limiter.origins.headers(path, dict(asked))
    if limiter.https is not None and limiter.https.tells_browsers(dict(asked), trusts=is_trusted):
        headers.append(HSTS)
    headers.append((b"connection", b"close"))
    lines = [b"%s: %s\r\n" % header for header in headers]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n", body])


def wants_page(path: str, asked: Sequence[tuple[bytes, bytes]]) -> bool:
    """True for a browser's request of a page."""
    if not path or MOUNTS.match(path):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in asked)


def find_profile(path: str, asked: Sequence[tuple[bytes, bytes]], default: str) -> Profile:
    """Return the profile that gives an error at this path its format, ours where none is named."""
    mount = MOUNTS.match(path)
    if mount is None:
        return UNIFIED
    named = mount["profile"] or ""
    head = RequestHead(headers=asked, peer="", fields=dict(asked), mount_profile=named)
    try:
        profile = choose_profile(head, None, BY_NAME[default])
    except GatewayError:
        return UNIFIED
    return (
        UNIFIED if profile.formats_only_call_errors and not path.endswith(body_paths()) else profile
    )


class LingeringClose:
    """Stands in for the transport of a response that may end before its request does.

    A socket that is closed with unread bytes resets the connection, and takes the answer along.
    """

    __slots__ = ("_linger", "_transport", "abort", "is_closing", "write", "writelines")

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self._transport = transport
        self._linger = linger
        self.write = transport.write
        self.writelines = transport.writelines
        self.abort = transport.abort
        self.is_closing = transport.is_closing

    def close(self) -> None:
        """Say that nothing follows, read on for a while, then close."""
        self._linger()


def as_gateway_error(error: HttpParserError) -> GatewayError:
    """Return the error that a callback raised, or the parser's own as one of ours."""
    cause = error.__context__
    if isinstance(cause, GatewayError):
        return cause
    reason = str(error).rstrip(".")
    return RequestError(f"The request is not valid HTTP: {reason[:1].lower()}{reason[1:]}.")
