"""Is this head one that every server on the way reads alike? The parser knows the grammar; here
is what it lets pass."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.core.errors import (
    ExpectationFailed,
    HeadersTooLarge,
    RequestError,
    UriTooLong,
)
from gateway.edge.hosts import Hosts
from gateway.edge.limits import (
    MAX_HEAD_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_REQUEST_LINE_BYTES,
)

Headers = Sequence[tuple[bytes, bytes]]

# What a header takes beside its name and value: a colon, a space and the line's end.
AROUND_BYTES = 4
BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def check_size(target: bytes, headers: Headers) -> None:
    """Raise UriTooLong or HeadersTooLarge. Needless for a head that is short as a whole."""
    if len(target) > MAX_REQUEST_LINE_BYTES:
        raise UriTooLong
    sizes = [len(name) + len(value) + AROUND_BYTES for name, value in headers]
    if sum(sizes) > MAX_HEAD_BYTES:
        raise HeadersTooLarge(f"The headers are longer than {MAX_HEAD_BYTES} bytes together.")
    if sizes and max(sizes) > MAX_HEADER_BYTES:
        raise HeadersTooLarge(f"A header is longer than {MAX_HEADER_BYTES} bytes.")


def check_head(version: str, target: bytes, headers: Headers, hosts: Hosts) -> None:
    """Raise the RequestError that a whole head deserves.

    headers: names in lower case, repeated ones included.
    """
    if version not in ("1.1", "1.0"):
        raise RequestError("Only HTTP/1.1 and HTTP/1.0 are spoken here.")
    if target[:1] != b"/" or b"#" in target:
        raise RequestError("The request target must be a path, such as /v1/models.")
    if b"%" in target and BAD_PERCENT.search(target):
        raise RequestError("The request target has a percent sign without two digits.")
    if len(headers) > MAX_HEADERS:
        raise HeadersTooLarge(f"There are more than {MAX_HEADERS} headers.")
    fields = dict(headers)
    hosts.check(fields.get(b"host"))
    if len(fields) != len(headers):
        _check_repeated(headers)
    coding = fields.get(b"transfer-encoding")
    if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
        raise RequestError("The Transfer-Encoding must be chunked, and nothing else.")
    expected = fields.get(b"expect")
    if expected is not None and expected.lower() != b"100-continue":
        raise ExpectationFailed


def _check_repeated(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for once in (b"host", b"content-length", b"transfer-encoding", b"expect"):
        if names.count(once) > 1:
            raise RequestError(f"The header {once.decode()} is there twice.")
