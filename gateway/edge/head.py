"""Checks the head of a request beyond the parser's grammar: whatever two servers could read in two
ways is refused."""

from __future__ import annotations

import re

from gateway.core.errors import (
    ExpectationFailed,
    HeadersTooLarge,
    InvalidHost,
    RequestError,
    UriTooLong,
)
from gateway.core.forms import no_boundary
from gateway.core.octets import HASH_SIGN, PERCENT
from gateway.edge.hosts import Hosts
from gateway.edge.limits import (
    MAX_HEAD_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_REQUEST_LINE_BYTES,
)

Headers = list[tuple[bytes, bytes]]

# What a header takes beside its name and value: a colon, a space and the line's end.
AROUND_BYTES = 4
# Names that need no second look, in the usual heads: all that is asked of them is to be alone.
PLAIN = frozenset(
    b"host authorization content-type content-length accept accept-encoding accept-language "
    b"connection user-agent x-api-key x-request-id x-client-request-id x-forwarded-for "
    b"x-forwarded-proto idempotency-key cookie origin referer cache-control x-stainless-lang "
    b"x-stainless-package-version x-stainless-os x-stainless-arch x-stainless-runtime "
    b"x-stainless-runtime-version x-stainless-async x-stainless-retry-count "
    b"x-stainless-read-timeout x-stainless-timeout x-stainless-helper-method".split()
)
# Load balancers and monitoring ask for these by an address instead of a name, and most of all while
# calls are refused.
PROBE_TARGETS = frozenset((b"/healthz", b"/readyz", b"/metrics"))
# Of a header that is too long, enough of its line to know a form by.
LINE_START_BYTES = 100
FORM_LINE = re.compile(rb"content-type:[ \t]*multipart/", re.IGNORECASE)
BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def check_size(target: bytes, headers: Headers) -> None:
    """Raise UriTooLong, HeadersTooLarge, or RequestError for the boundary of a form that is too
    long. Needless for a head that is short as a whole."""
    if len(headers) > MAX_HEADERS:
        raise HeadersTooLarge(f"The request has more than {MAX_HEADERS} headers.")
    if len(target) > MAX_REQUEST_LINE_BYTES:
        raise UriTooLong
    sizes = [len(name) + len(value) + AROUND_BYTES for name, value in headers]
    longest_bytes = max(sizes, default=0)
    if longest_bytes > MAX_HEADER_BYTES:
        name, value = headers[sizes.index(longest_bytes)]
        if fault := find_boundary_fault(b"%b: %b" % (name, value[:LINE_START_BYTES])):
            raise fault
    if sum(sizes) > MAX_HEAD_BYTES:
        raise head_too_large()
    if longest_bytes > MAX_HEADER_BYTES:
        raise HeadersTooLarge(f"A header exceeds {MAX_HEADER_BYTES} bytes.")


def head_too_large() -> HeadersTooLarge:
    return HeadersTooLarge(f"The headers exceed {MAX_HEAD_BYTES} bytes in total.")


def find_boundary_fault(line: bytes) -> RequestError | None:
    """Return what is wrong with a header that is too long if it is a form's Content-Type: its
    boundary. line: how the header begins."""
    return no_boundary() if FORM_LINE.match(line) else None


def line_start(before: bytes, data: bytes) -> bytes:
    """Return how the last line begins that `data` reaches, where `before` was that of what came
    before it."""
    begins = data.rfind(b"\n") + 1
    return data[begins : begins + LINE_START_BYTES] if begins or not before else before


def check_head(version: str, target: bytes, headers: Headers, hosts: Hosts) -> dict[bytes, bytes]:
    """Return the headers by name. Raises the RequestError that a whole head deserves.

    headers: names in lower case, repeated ones included. Those with an underscore are taken out:
    they would pass for the same name with hyphens wherever names become variables.
    """
    if version != "1.1" and version != "1.0":
        raise RequestError("Only HTTP/1.1 and HTTP/1.0 are supported.")
    if target[:1] != b"/" or HASH_SIGN in target:
        raise RequestError("The request target must be a path, such as /v1/models.")
    if PERCENT in target and BAD_PERCENT.search(target):
        raise RequestError("The request target has a percent sign without two hexadecimal digits.")
    fields = dict(headers)
    if len(fields) != len(headers) or not fields.keys() <= PLAIN:
        fields = _check_odd(version, headers)
    try:
        hosts.check(fields.get(b"host"))
    except InvalidHost:
        if target not in PROBE_TARGETS:
            raise
    return fields


def _check_odd(version: str, headers: Headers) -> dict[bytes, bytes]:
    """Return the headers by name, where some are repeated or not among the usual ones."""
    headers[:] = [header for header in headers if b"_" not in header[0]]
    fields = dict(headers)
    if len(fields) != len(headers):
        _check_repeated(headers)
    coding = fields.get(b"transfer-encoding")
    if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
        raise RequestError("The Transfer-Encoding must be chunked.")
    if b"expect" in fields and fields[b"expect"].lower() != b"100-continue":
        raise ExpectationFailed
    return fields


def _check_repeated(headers: Headers) -> None:
    names = [name for name, _ in headers]
    if names.count(b"host") > 1:
        raise InvalidHost("The Host header was sent twice.")
    for once in (b"content-length", b"transfer-encoding", b"expect"):
        if names.count(once) > 1:
            raise RequestError(f"The header {once.decode()} was sent twice.")
